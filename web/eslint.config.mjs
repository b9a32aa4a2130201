import jsxA11y from "eslint-plugin-jsx-a11y";
import reactHooks from "eslint-plugin-react-hooks";
import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["out/", ".next/", "node_modules/", "lib/api/schema.ts", "next-env.d.ts"] },
  ...tseslint.configs.strict,
  jsxA11y.flatConfigs.recommended,
  reactHooks.configs.flat["recommended-latest"],
  {
    rules: {
      "@typescript-eslint/no-non-null-assertion": "error",
      "no-restricted-syntax": [
        "error",
        { selector: "JSXAttribute[name.name='dangerouslySetInnerHTML']", message: "Recorded text is shown as text." },
        { selector: "JSXAttribute[name.name='style']", message: "The CSP forbids style attributes; use a class, or a ref." },
      ],
    },
  },
);
