// Loaded before anything is painted, so that a chosen theme does not flash; a file, because the CSP wants one.
try {
  const theme = localStorage.getItem("keepwarm:theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // A browser that keeps nothing follows the system.
}
