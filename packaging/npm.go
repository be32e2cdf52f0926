package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// npmPackages writes one package for each platform, which holds the program,
// and the one that people install, which has those as optional dependencies.
// npm installs the one that fits the machine; no script runs.
func (r *release) npmPackages() error {
	optional := map[string]string{}
	for _, p := range r.platforms {
		name := r.NPMScope + "/" + npmPlatform(p)
		optional[name] = r.version
		binary, err := os.ReadFile(p.binary)
		if err != nil {
			return err
		}
		manifest := map[string]any{
			"name": name, "version": r.version, "description": "The program of mcphub for " + p.os + " on " + p.arch,
			"license": r.License, "homepage": r.Homepage, "repository": r.Repository,
			"os": []string{npmOS(p.os)}, "cpu": []string{npmCPU(p.arch)}, "preferUnplugged": true,
		}
		if err := r.npmPackage(name, manifest, file{"bin/" + p.program(), binary, 0o755}, file{thirdParty, r.notices, 0o644}); err != nil {
			return err
		}
	}
	start, err := os.ReadFile("files/mcphub.js")
	if err != nil {
		return err
	}
	readme, err := os.ReadFile("files/npm.md") // npm shows it alone, without the repository's pictures and pages
	if err != nil {
		return err
	}
	readme = fmt.Appendf(readme, "\nGuides and reference: %s\n\n%s.\n", r.Homepage, r.License)
	return r.npmPackage(r.Name, map[string]any{
		"name": r.Name, "version": r.version, "description": r.Summary, "mcpName": r.RegistryName,
		"license": r.License, "homepage": r.Homepage, "repository": r.Repository,
		"bin": map[string]string{"mcphub": "bin/mcphub.js"}, "engines": map[string]string{"node": ">=18"},
		"mcphub": map[string]string{"scope": r.NPMScope}, "optionalDependencies": optional,
	}, file{"bin/mcphub.js", start, 0o755}, file{"README.md", readme, 0o644})
}

func (r *release) npmPackage(name string, manifest map[string]any, content ...file) error {
	text, err := json.MarshalIndent(manifest, "", "  ")
	if err != nil {
		return err
	}
	files := append([]file{{"package.json", append(text, '\n'), 0o644}, {"LICENSE", r.ownLicense, 0o644}}, content...)
	for i := range files {
		files[i].name = "package/" + files[i].name
	}
	packed, err := tarGz(files, r.time)
	if err != nil {
		return err
	}
	// As `npm pack` names it: the scope without its sign, then the name.
	flat := strings.ReplaceAll(strings.TrimPrefix(name, "@"), "/", "-")
	return r.write(fmt.Sprintf("%s-%s.tgz", flat, r.version), packed)
}

// npmPlatform returns a platform as process.platform and process.arch of Node have it.
func npmPlatform(p platform) string { return npmOS(p.os) + "-" + npmCPU(p.arch) }

func npmOS(goos string) string {
	if goos == "windows" {
		return "win32"
	}
	return goos
}

func npmCPU(goarch string) string {
	if goarch == "amd64" {
		return "x64"
	}
	return goarch
}
