package main

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// image writes a container image of every Linux platform as a tar file in the
// OCI layout. It holds the program and the certificates of the web, and
// nothing that servers on this machine could be started with.
func (r *release) image() error {
	var index v1.ImageIndex = empty.Index
	for _, p := range r.platforms {
		if p.os != "linux" {
			continue
		}
		img, err := r.platformImage(p)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: p.os, Architecture: p.arch}},
		})
	}
	if manifest, err := index.IndexManifest(); err != nil || len(manifest.Manifests) == 0 {
		return err // no Linux among the platforms
	}
	folder := filepath.Join(r.work, "image")
	if _, err := layout.Write(folder, index); err != nil {
		return err
	}
	content, err := folderTar(folder, r.time)
	if err != nil {
		return err
	}
	return r.write(fmt.Sprintf("%s-%s-oci.tar", r.Name, r.version), content)
}

func (r *release) platformImage(p platform) (v1.Image, error) {
	binary, err := os.ReadFile(p.image)
	if err != nil {
		return nil, err
	}
	var certificates bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue // trusted for some names only, which a file of certificates cannot say
		}
		if err := pem.Encode(&certificates, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, err
		}
	}
	packed, err := tarfile([]file{
		{"usr/bin/mcphub", binary, 0o755},
		{"usr/share/doc/mcphub/copyright", r.ownLicense, 0o644},
		{"usr/share/doc/mcphub/" + thirdParty, r.inImage, 0o644},
		{"etc/ssl/certs/ca-certificates.crt", certificates.Bytes(), 0o644},
		{"etc/passwd", []byte("mcphub:x:65532:65532::/home/mcphub:/sbin/nologin\n"), 0o644},
		{"tmp/", nil, 0o1777},
		{"home/mcphub/", nil, 0o1777}, // no one else is in there
	}, r.time)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed)), nil })
	if err != nil {
		return nil, err
	}
	created := v1.Time{Time: r.time}
	img, err := mutate.Append(empty.Image, mutate.Addendum{Layer: layer, History: v1.History{Created: created, CreatedBy: "packaging"}})
	if err != nil {
		return nil, err
	}
	made, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config := made.DeepCopy()
	config.OS, config.Architecture, config.Created = p.os, p.arch, created
	config.Config = v1.Config{
		User: "65532:65532", WorkingDir: "/home/mcphub", Env: []string{"HOME=/home/mcphub", "PATH=/usr/bin"},
		Entrypoint: []string{"/usr/bin/mcphub"}, Cmd: []string{"serve"},
		Labels: map[string]string{
			"org.opencontainers.image.title": r.Name, "org.opencontainers.image.description": r.Summary,
			"org.opencontainers.image.version": r.version, "org.opencontainers.image.licenses": r.License,
			"org.opencontainers.image.source": r.Repository, "org.opencontainers.image.url": r.Homepage,
		},
	}
	return mutate.ConfigFile(img, config)
}

// folderTar returns a folder as a tar archive, in the order of names.
func folderTar(folder string, t time.Time) ([]byte, error) {
	var files []file
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		files = append(files, file{filepath.ToSlash(name), content, 0o644})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return tarfile(files, t)
}
