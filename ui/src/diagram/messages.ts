/** What the page and the frame that draws diagrams say to each other. */

export interface DiagramRequest {
  id: number;
  source: string;
  isDark: boolean;
}

export interface DiagramResponse {
  id: number;
  /** `null`: it is no diagram. */
  picture: { svg: string; width: number; height: number } | null;
}
