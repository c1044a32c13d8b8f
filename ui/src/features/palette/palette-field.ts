/** The same field while the palette loads and after. */
export const paletteField =
  "h-11 w-full border-line border-b bg-transparent px-4 text-ui outline-none placeholder:text-faint";
