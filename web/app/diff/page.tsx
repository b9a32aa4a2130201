import type { Metadata } from "next";
import { DiffView } from "@/views/diff/DiffView";

export const metadata: Metadata = { title: "Prompt diff · keepwarm" };

export default function Page() {
  return <DiffView />;
}
