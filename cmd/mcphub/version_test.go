package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
)

func TestVersionListsEveryProtocolVersion(t *testing.T) {
	t.Parallel()
	cmd := versionCommand()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetArgs([]string{"--json"})
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	var said struct{ ProtocolVersions []string }
	if err := json.Unmarshal(out.Bytes(), &said); err != nil {
		t.Fatal(err)
	}
	if want := append([]string{mcp.ProtocolVersion20260728}, mcp.LegacyProtocolVersions()...); !slices.Equal(said.ProtocolVersions, want) {
		t.Errorf("%q, want %q", said.ProtocolVersions, want)
	}
}
