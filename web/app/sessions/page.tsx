import type { Metadata } from "next";
import { SessionsView } from "@/views/sessions/SessionsView";

export const metadata: Metadata = { title: "Sessions · keepwarm" };

export default function Page() {
  return <SessionsView />;
}
