"use client";

import { useDiagnoseCommand, WithDiagnosis } from "@/components/Diagnosis";
import { Empty, When } from "@/components/States";
import { useApi } from "@/lib/api/use";
import { MapPage } from "@/views/map/MapPage";

/** The break map of the chosen diagnosis. */
export function MapView() {
  return (
    <>
      <h1>Break map</h1>
      <WithDiagnosis>{(id) => <Diagnosed key={id} id={id} />}</WithDiagnosis>
    </>
  );
}

function Diagnosed({ id }: { id: string }) {
  const diagnosis = useApi("/api/diagnoses/{id}", { path: { id } });
  const run = useDiagnoseCommand();
  return (
    <When loaded={diagnosis} what="the diagnosis">
      {(answer) =>
        answer.has_map ? (
          <MapPage id={id} tokens={answer.diagnosis.tokens} />
        ) : (
          <Empty
            what="This diagnosis has no map: it was written without --out, or by a version before there were maps. Make it again."
            run={run}
          />
        )
      }
    </When>
  );
}
