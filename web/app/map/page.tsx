import type { Metadata } from "next";
import { MapView } from "@/views/map/MapView";

export const metadata: Metadata = { title: "Break map · keepwarm" };

export default function Page() {
  return <MapView />;
}
