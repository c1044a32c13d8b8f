/** The gallery by itself, for `npm run dev`: /src/gallery/index.html. In the page it is a route. */
import "@/main.css";
import { createRoot } from "react-dom/client";
import { Gallery } from "./gallery";

const root = document.getElementById("root");
if (root !== null) createRoot(root).render(<Gallery />);
