package main

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// linuxPackages writes a .deb and an .rpm for each Linux platform.
func (r *release) linuxPackages() error {
	for _, p := range r.platforms {
		if p.os != "linux" {
			continue
		}
		for _, format := range []string{"deb", "rpm"} {
			if err := r.linuxPackage(p, format); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *release) linuxPackage(p platform, format string) error {
	contents, err := r.installed(p)
	if err != nil {
		return err
	}
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: r.Name, Arch: p.arch, Platform: "linux",
		Version: r.version, VersionSchema: "semver", Release: "1",
		Section: "net", Priority: "optional",
		Maintainer: r.Maintainer, Description: r.Summary, Homepage: r.Homepage, License: r.License, Vendor: r.Name,
		MTime:        r.time,
		Overridables: nfpm.Overridables{Contents: contents, RPM: nfpm.RPM{BuildHost: "localhost"}},
	})
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return err
	}
	var buf bytes.Buffer
	if err := packager.Package(info, &buf); err != nil {
		return err
	}
	return r.write(packager.ConventionalFileName(info), buf.Bytes())
}

// installed returns what a package puts where: the program, its manual,
// what completes its command line, units for systemd, and examples.
func (r *release) installed(p platform) (files.Contents, error) {
	manual, err := gzipped(r.manual, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	changes, err := os.ReadFile("../CHANGELOG.md")
	if err != nil {
		return nil, err
	}
	if changes, err = gzipped(changes, gzip.BestCompression); err != nil {
		return nil, err
	}
	for _, f := range []file{
		{name: "mcphub.1.gz", content: manual}, {name: "changelog.gz", content: changes}, {name: thirdParty, content: r.notices},
		{name: "mcphub.bash", content: r.shells["bash"]}, {name: "_mcphub", content: r.shells["zsh"]}, {name: "mcphub.fish", content: r.shells["fish"]},
	} {
		if err := os.WriteFile(filepath.Join(r.work, f.name), f.content, 0o644); err != nil {
			return nil, err
		}
	}
	put := func(source, destination string, mode os.FileMode) *files.Content {
		return &files.Content{Source: source, Destination: destination, FileInfo: &files.ContentFileInfo{Mode: mode, MTime: r.time}}
	}
	made := func(name string) string { return filepath.Join(r.work, name) }
	return files.Contents{
		put(p.binary, "/usr/bin/mcphub", 0o755),
		put(made("mcphub.1.gz"), "/usr/share/man/man1/mcphub.1.gz", 0o644),
		put(made("mcphub.bash"), "/usr/share/bash-completion/completions/mcphub", 0o644),
		put(made("_mcphub"), "/usr/share/zsh/vendor-completions/_mcphub", 0o644),
		put(made("mcphub.fish"), "/usr/share/fish/vendor_completions.d/mcphub.fish", 0o644),
		put("files/mcphub.service", "/usr/lib/systemd/user/mcphub.service", 0o644),
		put("files/mcphub-system.service", "/usr/lib/systemd/system/mcphub.service", 0o644),
		put("files/mcphub.sysusers", "/usr/lib/sysusers.d/mcphub.conf", 0o644),
		put("files/mcphub.tmpfiles", "/usr/lib/tmpfiles.d/mcphub.conf", 0o644),
		put("monitoring/alerts.yaml", "/usr/share/doc/mcphub/examples/alerts.yaml", 0o644),
		put("monitoring/dashboard.json", "/usr/share/doc/mcphub/examples/dashboard.json", 0o644),
		put("../hub.json.example", "/usr/share/doc/mcphub/examples/hub.json.example", 0o644),
		put("../LICENSE", "/usr/share/doc/mcphub/copyright", 0o644),
		put(made(thirdParty), "/usr/share/doc/mcphub/"+thirdParty, 0o644),
		put(made("changelog.gz"), "/usr/share/doc/mcphub/changelog.gz", 0o644),
	}, nil
}
