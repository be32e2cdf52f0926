package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mcphub/children"
	"mcphub/rootsmgr/guard"
)

// This file digests the files that a server runs from. A digest is the same wherever the same files lie, and costs no more than reading lists
// of digests that a package manager keeps, or one file.

// programDigest returns the digest of what a server was started from; "" if that is not known cheaply: a program that a launcher fetches itself, a
// program of the system, or a server at an address. command is the command of its entry.
func programDigest(command string, st children.Status) string {
	files := append([]string{st.Command}, st.Args...)
	for i, file := range files {
		if !filepath.IsAbs(file) {
			file = filepath.Join(st.Cwd, file)
		}
		if files[i] = ""; !guard.MayFollow(file, nil) {
			continue
		}
		if real, err := filepath.EvalSymlinks(file); err == nil {
			files[i] = real
		}
	}
	for _, digest := range []func(file string) string{nodeDigest, pythonDigest} {
		for _, file := range files {
			if sum := digest(file); sum != "" {
				return sum
			}
		}
	}
	for _, file := range files[1:] {
		if slices.Contains(scripts, filepath.Ext(file)) {
			return fileDigest(file)
		}
	}
	if strings.ContainsAny(command, `/\`) {
		return fileDigest(files[0])
	}
	return ""
}

// scripts are the ends of names that programs for an interpreter have.
var scripts = []string{".js", ".mjs", ".cjs", ".ts", ".mts", ".py", ".pyz", ".rb", ".jar", ".sh"}

// largestProgram bounds what is read for a digest.
const largestProgram = 256 << 20

// readForDigest passes a regular file to read. ok is false if the file cannot be read, or is too large.
func readForDigest(file string, read func(io.Reader) error) (ok bool) {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > largestProgram {
		return false
	}
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	return read(io.LimitReader(f, largestProgram)) == nil
}

func fileDigest(file string) string {
	sum := sha256.New()
	if file == "" || !readForDigest(file, func(r io.Reader) error { _, err := io.Copy(sum, r); return err }) {
		return ""
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}

// linesDigest returns the digest of lines in any order; "" of none.
func linesDigest(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// nodeDigest returns the digest of the packages that a program of Node lies among, as npm lists them; "" if it does not.
func nodeDigest(file string) string {
	for dir := filepath.Dir(file); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if filepath.Base(dir) != "node_modules" {
			continue
		}
		var lock struct {
			Packages map[string]struct {
				Version   string `json:"version"`
				Integrity string `json:"integrity"`
			} `json:"packages"`
		}
		if !readForDigest(filepath.Join(dir, ".package-lock.json"), func(r io.Reader) error { return json.NewDecoder(r).Decode(&lock) }) {
			continue
		}
		var lines []string
		for _, path := range slices.Sorted(maps.Keys(lock.Packages)) {
			p := lock.Packages[path]
			lines = append(lines, fmt.Sprintf("%s %s %s", path, p.Version, p.Integrity))
		}
		return linesDigest(lines)
	}
	return ""
}

// pythonDigest returns the digest of the packages beside a program of Python, as its installer lists them; "" if it lies in no environment of
// its own.
func pythonDigest(file string) string {
	top := filepath.Dir(filepath.Dir(file))
	if _, err := os.Stat(filepath.Join(top, "pyvenv.cfg")); err != nil {
		return ""
	}
	records, _ := filepath.Glob(filepath.Join(top, "lib", "python*", "site-packages", "*.dist-info", "RECORD")) // the pattern is sound
	var lines []string
	for _, record := range records {
		ok := readForDigest(record, func(r io.Reader) error {
			in := bufio.NewScanner(r)
			for in.Scan() {
				// What has no digest is made at the first start. Programs hold the path of their interpreter, and files of the installer the time.
				line := in.Text()
				name, rest, _ := strings.Cut(line, ",")
				if strings.Contains(rest, "sha256=") && !strings.HasPrefix(name, "..") && !slices.Contains([]string{"direct_url.json", "uv_cache.json"}, filepath.Base(name)) {
					lines = append(lines, line)
				}
			}
			return in.Err()
		})
		if !ok {
			return ""
		}
	}
	return linesDigest(lines)
}
