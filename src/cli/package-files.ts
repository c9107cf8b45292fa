// Files that come with the package: its version and the default configuration. Found from this file upwards, since
// it runs from src/ and from dist/src/.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

export function packageFile(...segments: string[]): string {
  return path.join(packageRoot(), ...segments);
}

export function packageVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(packageFile('package.json'), 'utf8'));
  const isManifest = typeof manifest === 'object' && manifest !== null && 'version' in manifest;
  return isManifest ? String(manifest.version) : 'unknown';
}

function packageRoot(): string {
  let directory = import.meta.dirname;
  while (!existsSync(path.join(directory, 'package.json'))) {
    const parent = path.dirname(directory);
    if (parent === directory) throw new Error(`no package.json above ${import.meta.dirname}`);
    directory = parent;
  }
  return directory;
}
