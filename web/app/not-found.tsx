import type { Metadata } from "next";

export const metadata: Metadata = { title: "No such page · keepwarm" };

export default function NotFound() {
  return (
    <>
      <h1>No such page</h1>
      <p>
        There is nothing at this address. <a href="/">The call sites</a> are where to start.
      </p>
    </>
  );
}
