import type { Metadata } from "next";
import type { ReactNode } from "react";
import { Shell } from "@/components/Shell";
import "@/app/globals.css";

export const metadata: Metadata = { title: "keepwarm" };

export default function Layout({ children }: { children: ReactNode }) {
  return (
    // theme.js may have set data-theme before React looks.
    <html lang="en" suppressHydrationWarning>
      <head>
        <script src="/theme.js" />
      </head>
      <body>
        <Shell>{children}</Shell>
      </body>
    </html>
  );
}
