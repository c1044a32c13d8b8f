/** Makes the types of the API from its OpenAPI document; `--check` only compares.
 *
 * Answers name the values of a field in `x-extensible-enum`, because a newer server may have more. The
 * types have the known ones: the page is built with its server, and the client's README says it. */
import { readFileSync, writeFileSync } from "node:fs";
import openapiTS, { astToString, COMMENT_HEADER } from "openapi-typescript";
import ts from "typescript";

const SOURCE = new URL("../../docs/reference/openapi.json", import.meta.url);
const TARGET = new URL("../client/src/schema.gen.ts", import.meta.url);

function literal(value) {
  return ts.factory.createLiteralTypeNode(ts.factory.createStringLiteral(value));
}

const ast = await openapiTS(SOURCE, {
  transform: (schema) => {
    const values = schema["x-extensible-enum"];
    return values && ts.factory.createUnionTypeNode(values.map(literal));
  },
});
const made = COMMENT_HEADER + astToString(ast);
if (!process.argv.includes("--check")) {
  writeFileSync(TARGET, made);
} else if (readFileSync(TARGET, "utf8") !== made) {
  throw new Error("client/src/schema.gen.ts is out of date: run `npm run api`.");
}
