package hub

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"mcphub/e2e/childtest"
	"mcphub/e2e/needs"
	"mcphub/hub/status"
	"mcphub/hub/telemetry"
)

// page returns what is counted of a hub that was made with cfg.
func page(cfg *Config) string { return string(cfg.Telemetry.Append(nil)) }

// line finds the one line of a page with this name and all of these labels, and returns its value.
func line(t *testing.T, page, name string, labels ...string) string {
	t.Helper()
	var found []string
	for l := range strings.Lines(page) {
		head, value, _ := strings.Cut(strings.TrimSpace(l), "} ")
		at, rest, _ := strings.Cut(head, "{")
		ok := at == name
		for _, label := range labels {
			ok = ok && strings.Contains(","+rest+",", ","+label+",")
		}
		if ok {
			found = append(found, value)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d lines of %s with %q on\n%s", len(found), name, labels, page)
	}
	return found[0]
}

func TestWhatIsCounted(t *testing.T) {
	cfg := testConfig(t, scripted("kid", childtest.Script{}))
	cfg.Telemetry = telemetry.New(telemetry.Options{Version: "1.2.3"})
	h := runHub(t, cfg)
	t.Run("session", func(t *testing.T) {
		c := connect(t, h, t.TempDir())
		c.handshake(`{"roots":{}}`)
		for range 3 {
			c.raw("tools/call", `{"name":"kid__echo","arguments":{"text":"secret-argument"}}`)
		}
		c.raw("tools/call", `{"name":"kid__echo","arguments":{"path":"/etc/shadow"}}`)
		c.refused("tools/call", `{"name":"made-up-name"}`)
		c.raw("tools/list", `{}`)
		c.raw("ping", `{}`)
		c.refused("made/up", `{}`)
		h.SetConfigState(status.Config{LastError: "wrong"})
		got := page(&cfg)

		count := func(want int, name string, labels ...string) {
			t.Helper()
			if value := line(t, got, name, labels...); value != fmt.Sprint(want) {
				t.Errorf("%s %q is %s, want %d", name, labels, value, want)
			}
		}
		count(1, "mcphub_build_info", `version="1.2.3"`)
		echo := []string{`mcp_method_name="tools/call"`, `gen_ai_tool_name="echo"`, `mcphub_server_name="kid"`, `gen_ai_operation_name="execute_tool"`, `network_transport="pipe"`}
		count(3, "mcp_client_operation_duration_seconds_count", echo...)
		count(1, "mcp_server_operation_duration_seconds_count", append(echo, `error_type="tool_error"`)...)
		count(1, "mcp_server_operation_duration_seconds_count", `mcp_method_name="tools/call"`, `gen_ai_tool_name="_other"`, `error_type="-32602"`, `rpc_response_status_code="-32602"`)
		count(1, "mcp_server_operation_duration_seconds_count", `mcp_method_name="tools/list"`, `mcp_protocol_version="2025-06-18"`)
		count(1, "mcp_server_operation_duration_seconds_count", `mcp_method_name="ping"`)
		count(1, "mcp_server_operation_duration_seconds_count", `mcp_method_name="_OTHER"`, `error_type="-32601"`)
		count(3, "mcphub_decisions_total", `decision="allow"`)
		count(1, "mcphub_decisions_total", `decision="deny"`)
		count(1, "mcphub_sessions", `network_transport="pipe"`)
		count(1, "mcphub_children", `mcphub_server_name="kid"`, `state="ready"`)
		for _, l := range []string{"\nmcphub_config_last_reload_successful 0\n", "\nmcphub_questions_pending 0\n", "\nmcphub_decisions_unrecorded_total 0\n"} {
			if !strings.Contains(got, l) {
				t.Errorf("no %q", l)
			}
		}
		for _, secret := range []string{"secret", "shadow", "made", t.Name()} {
			if strings.Contains(got, secret) {
				t.Errorf("the page has %q:\n%s", secret, got)
			}
		}
		checkPage(t, got)
	})
	got := page(&cfg)
	if !strings.Contains(got, `mcphub_sessions{network_transport="pipe"} 0`) {
		t.Errorf("the session that has ended is still counted:\n%s", got)
	}
	if value := line(t, got, "mcp_server_session_duration_seconds_count", `network_transport="pipe"`, `mcp_protocol_version="2025-06-18"`); value != "1" {
		t.Errorf("%s sessions have ended, want 1", value)
	}
}

// checkPage has promtool, Prometheus' own program, read a page.
func checkPage(t *testing.T, page string) {
	t.Helper()
	t.Run("promtool", func(t *testing.T) {
		cmd := exec.CommandContext(t.Context(), needs.Program(t, "promtool"), "check", "metrics")
		cmd.Stdin = strings.NewReader(page)
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("promtool: %v\n%s", err, out)
		}
	})
}
