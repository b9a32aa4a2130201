import type { Metadata } from "next";
import { EvidenceView } from "@/views/evidence/EvidenceView";

export const metadata: Metadata = { title: "Evidence · keepwarm" };

export default function Page() {
  return <EvidenceView />;
}
