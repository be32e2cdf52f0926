package operation

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// registries has "registry DIR": a registry of servers on loopback, at the address in MCPHUB_REGISTRY, until the script ends.
// It answers by the files in DIR: NAME.json is the server.json that it gives for SPACE/NAME, whatever the name is in there.
// Its list has all of them whose file holds what is searched for.
func registries() map[string]func(ts *testscript.TestScript, neg bool, args []string) {
	return map[string]func(ts *testscript.TestScript, neg bool, args []string){
		"registry": func(ts *testscript.TestScript, neg bool, args []string) {
			if neg || len(args) != 1 {
				ts.Fatalf("usage: registry DIR")
			}
			root, err := os.OpenRoot(ts.MkAbs(args[0]))
			ts.Check(err)
			read := func(name string) json.RawMessage {
				text, err := root.ReadFile(name + ".json")
				if err != nil {
					return nil
				}
				return json.RawMessage(text)
			}
			type answer struct {
				Server json.RawMessage `json:"server"`
			}
			mux := http.NewServeMux()
			mux.HandleFunc("GET /v0.1/servers", func(w http.ResponseWriter, r *http.Request) {
				dir, err := root.Open(".")
				if err != nil {
					w.WriteHeader(http.StatusInternalServerError)
					return
				}
				defer dir.Close()
				names, _ := dir.Readdirnames(-1) // without names it lists nothing
				slices.Sort(names)
				list := []answer{}
				for _, name := range names {
					if text := read(strings.TrimSuffix(name, ".json")); strings.Contains(string(text), r.URL.Query().Get("search")) {
						list = append(list, answer{text})
					}
				}
				_ = json.NewEncoder(w).Encode(map[string]any{"servers": list, "metadata": map[string]any{"count": len(list)}})
			})
			mux.HandleFunc("GET /v0.1/servers/{name}/versions/latest", func(w http.ResponseWriter, r *http.Request) {
				_, name, _ := strings.Cut(r.PathValue("name"), "/")
				if text := read(name); text != nil {
					_ = json.NewEncoder(w).Encode(answer{text})
					return
				}
				http.NotFound(w, r)
			})
			srv := httptest.NewServer(mux)
			ts.Setenv("MCPHUB_REGISTRY", srv.URL)
			ts.Defer(func() {
				srv.Close()
				_ = root.Close()
			})
		},
	}
}
