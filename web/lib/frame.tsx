"use client";

import { createContext, type ReactNode, useContext } from "react";
import type { Schema } from "@/lib/api/client";
import { type Loaded, useApi } from "@/lib/api/use";
import { useQuery } from "@/lib/url";

// What every view needs to know, asked for once: what is served, and which diagnoses lie in the folder.

export interface Frame {
  server: Loaded<Schema<"keepwarm_api_schema_library_Server">>;
  diagnoses: Loaded<Schema<"Items">>;
}

const FrameContext = createContext<Frame>({ server: { state: "idle" }, diagnoses: { state: "idle" } });

export function FrameProvider({ children }: { children: ReactNode }) {
  const { ready } = useQuery();
  const server = useApi("/api/server", ready ? {} : null);
  const diagnoses = useApi("/api/results", ready ? { query: { kind: "diagnosis" } } : null);
  return <FrameContext value={{ server, diagnoses }}>{children}</FrameContext>;
}

export function useFrame(): Frame {
  return useContext(FrameContext);
}

/** The id of the diagnosis in the address, else of the newest one that can be shown; null: none, or not known yet. */
export function useDiagnosisId(): string | null {
  const { diagnoses } = useFrame();
  const { query } = useQuery();
  const asked = query.get("diagnosis");
  if (asked !== null) return asked;
  if (diagnoses.state !== "ready") return null;
  return diagnoses.answer.items.find((item) => item.problem === null)?.id ?? null;
}
