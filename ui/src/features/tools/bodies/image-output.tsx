import { useEffect, useState } from "react";
import type { OutputImage } from "@/features/tools/results";

/** The images of a result. The page may load images from blobs and not from `data:` addresses. */
export function ImageOutput({
  images,
  caption,
}: {
  images: readonly OutputImage[];
  caption: string;
}) {
  return (
    <figure className="space-y-2 px-3 py-2">
      {images.map((image) => (
        <Picture key={image.base64} image={image} label={caption} />
      ))}
      <figcaption className="text-meta break-words text-muted">{caption}</figcaption>
    </figure>
  );
}

function Picture({ image, label }: { image: OutputImage; label: string }) {
  const [url, setUrl] = useState<string | null>(null);
  useEffect(() => {
    const bytes = decoded(image.base64);
    if (bytes === null) return;
    const made = URL.createObjectURL(new Blob([bytes], { type: image.mediaType }));
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [image]);
  return url === null ? null : (
    <img src={url} alt={label} className="max-h-80 max-w-full rounded-control object-contain" />
  );
}

function decoded(base64: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  } catch {
    return null;
  }
}
