package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// registryEntry writes server.json, by which the MCP registry lists a server.
func (r *release) registryEntry() error {
	text, err := json.MarshalIndent(map[string]any{
		"$schema":     "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
		"name":        r.RegistryName,
		"title":       r.Name,
		"description": r.Summary,
		"version":     r.version,
		"websiteUrl":  r.Homepage,
		"packages": []any{map[string]any{
			"registryType": "npm", "identifier": r.Name, "version": r.version, "runtimeHint": "npx",
			"packageArguments": []any{map[string]any{"type": "positional", "value": "serve"}},
			"transport":        map[string]any{"type": "stdio"},
		}},
	}, "", "  ")
	if err != nil {
		return err
	}
	return r.write("server.json", append(text, '\n'))
}

// billOfMaterials writes what the program is made of, in the form of
// CycloneDX: every module that a binary of the release names.
func (r *release) billOfMaterials() error {
	modules := map[string]*debug.Module{}
	var compiler string
	var binaries []string
	for _, p := range r.platforms {
		if binaries = append(binaries, p.binary); p.image != "" {
			binaries = append(binaries, p.image)
		}
	}
	for _, binary := range binaries {
		info, err := buildinfo.ReadFile(binary)
		if err != nil {
			return err
		}
		compiler = info.GoVersion
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			modules[m.Path+"@"+m.Version] = m
		}
	}
	components := []cdx.Component{{
		BOMRef: "pkg:golang/std@" + compiler, Type: cdx.ComponentTypeLibrary, Name: "std", Version: compiler, PackageURL: "pkg:golang/std@" + compiler,
	}}
	for key, m := range modules {
		url := "pkg:golang/" + key
		components = append(components, cdx.Component{
			BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, PackageURL: url,
			Properties: &[]cdx.Property{{Name: "go:sum", Value: m.Sum}},
		})
	}
	slices.SortFunc(components, func(a, b cdx.Component) int { return cmp.Compare(a.BOMRef, b.BOMRef) })
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{
		Timestamp: r.time.Format(time.RFC3339),
		Component: &cdx.Component{
			BOMRef: "pkg:golang/" + r.Name + "@" + r.version, Type: cdx.ComponentTypeApplication, Name: r.Name, Version: r.version,
			Licenses: &cdx.Licenses{{License: &cdx.License{ID: r.License}}},
		},
	}
	bom.Components = &components
	var buf bytes.Buffer
	if err := cdx.NewBOMEncoder(&buf, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom); err != nil {
		return err
	}
	return r.write(fmt.Sprintf("%s-%s.cdx.json", r.Name, r.version), buf.Bytes())
}

// checksums writes the SHA-256 of every file of the release, in the form that
// sha256sum --check reads.
func (r *release) checksums() error {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var lines strings.Builder
	for _, e := range entries {
		if name := e.Name(); strings.HasPrefix(name, r.Name) || name == "server.json" {
			content, err := os.ReadFile(filepath.Join(r.out, name))
			if err != nil {
				return err
			}
			fmt.Fprintf(&lines, "%x  %s\n", sha256.Sum256(content), name)
		}
	}
	return r.write("SHA256SUMS", []byte(lines.String()))
}
