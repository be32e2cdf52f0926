package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path"
	"time"
)

// file is one file of an archive, or a folder if the name ends in a slash.
type file struct {
	name    string
	content []byte
	mode    int64
}

// archives writes one archive for each platform: zip for Windows, tar.gz elsewhere.
func (r *release) archives() error {
	for _, p := range r.platforms {
		name := fmt.Sprintf("%s-%s-%s-%s", r.Name, r.version, p.os, p.arch)
		files, err := r.contents(p)
		if err != nil {
			return err
		}
		for i := range files {
			files[i].name = path.Join(name, files[i].name)
		}
		pack, suffix := tarGz, ".tar.gz"
		if p.os == "windows" {
			pack, suffix = zipfile, ".zip"
		}
		content, err := pack(files, r.time)
		if err != nil {
			return err
		}
		if err := r.write(name+suffix, content); err != nil {
			return err
		}
	}
	return nil
}

// contents returns the files of the archive for one platform.
func (r *release) contents(p platform) ([]file, error) {
	binary, err := os.ReadFile(p.binary)
	if err != nil {
		return nil, err
	}
	files := []file{{p.program(), binary, 0o755}, {thirdParty, r.notices, 0o644}}
	for _, name := range []string{"README.md", "LICENSE", "CHANGELOG.md", "hub.json.example"} {
		text, err := os.ReadFile(path.Join("..", name))
		if err != nil {
			return nil, err
		}
		files = append(files, file{name, text, 0o644})
	}
	if p.os == "windows" {
		return files, nil
	}
	return append(files,
		file{"man/mcphub.1", r.manual, 0o644},
		file{"completions/mcphub.bash", r.shells["bash"], 0o644},
		file{"completions/_mcphub", r.shells["zsh"], 0o644},
		file{"completions/mcphub.fish", r.shells["fish"], 0o644},
	), nil
}

// tarGz returns a gzipped tar archive whose bytes depend on its arguments alone.
func tarGz(files []file, t time.Time) ([]byte, error) {
	packed, err := tarfile(files, t)
	if err != nil {
		return nil, err
	}
	return gzipped(packed, gzip.DefaultCompression)
}

// tarfile returns a tar archive whose bytes depend on its arguments alone.
func tarfile(files []file, t time.Time) ([]byte, error) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, f := range files {
		header := &tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.content)), ModTime: t, Format: tar.FormatPAX}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// gzipped returns a content in gzip, without a name or a time in it.
func gzipped(content []byte, level int) ([]byte, error) {
	var buf bytes.Buffer
	w, err := gzip.NewWriterLevel(&buf, level)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// zipfile returns a zip archive whose bytes depend on its arguments alone.
func zipfile(files []file, t time.Time) ([]byte, error) {
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for _, f := range files {
		header := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: t}
		header.SetMode(os.FileMode(f.mode))
		to, err := w.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := to.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}
