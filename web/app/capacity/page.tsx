import type { Metadata } from "next";
import { CapacityView } from "@/views/capacity/CapacityView";

export const metadata: Metadata = { title: "Capacity · keepwarm" };

export default function Page() {
  return <CapacityView />;
}
