// Writes modelgate.vsix, which is a ZIP archive with two files that describe it. The same content gives the same bytes.
import { readFileSync, writeFileSync } from "node:fs";
import { zipSync } from "fflate";

const about = JSON.parse(readFileSync("package.json"));
const escaped = (text) => text.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);

const manifest = `<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata>
    <Identity Language="en-US" Id="${about.name}" Version="${about.version}" Publisher="${about.publisher}"/>
    <DisplayName>${escaped(about.displayName)}</DisplayName>
    <Description xml:space="preserve">${escaped(about.description)}</Description>
    <Categories>${escaped(about.categories.join(","))}</Categories>
    <Properties>
      <Property Id="Microsoft.VisualStudio.Code.Engine" Value="${escaped(about.engines.vscode)}"/>
    </Properties>
  </Metadata>
  <Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>
  <Dependencies/>
  <Assets>
    <Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.Details" Path="extension/README.md" Addressable="true"/>
  </Assets>
</PackageManifest>
`;

const types = ["json", "js", "md", "vsixmanifest"]
  .map((name) => `<Default Extension=".${name}" ContentType="${name === "json" ? "application/json" : "text/plain"}"/>`)
  .join("");

const { devDependencies, scripts, private: _, ...shipped } = about;
const files = {
  "[Content_Types].xml": `<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">${types}</Types>
`,
  "extension.vsixmanifest": manifest,
  "extension/package.json": JSON.stringify(shipped, null, 2),
  "extension/README.md": readFileSync("README.md", "utf-8"),
  "extension/dist/extension.js": readFileSync("dist/extension.js", "utf-8"),
};
const bytes = Object.fromEntries(Object.entries(files).map(([name, text]) => [name, new TextEncoder().encode(text)]));
writeFileSync("modelgate.vsix", zipSync(bytes, { level: 9, mtime: "1980-01-01T00:00:00" }));
console.log("modelgate.vsix");
