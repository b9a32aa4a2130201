import type { NextConfig } from "next";

// Files only: the Python server hands them out, and nothing of Node runs at the user's.
const config: NextConfig = {
  output: "export",
  trailingSlash: true,
  images: { unoptimized: true },
  devIndicators: false,
  poweredByHeader: false,
};

export default config;
