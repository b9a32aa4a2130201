import type { Metadata } from "next";
import { CausesView } from "@/views/causes/CausesView";

export const metadata: Metadata = { title: "Causes · keepwarm" };

export default function Page() {
  return <CausesView />;
}
