import type { Metadata } from "next";
import { CallSitesView } from "@/views/callsites/CallSitesView";

export const metadata: Metadata = { title: "Call sites · keepwarm" };

export default function Page() {
  return <CallSitesView />;
}
