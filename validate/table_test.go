package validate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mcphub/validate/access"
	"mcphub/validate/declare"
	"mcphub/validate/policy"
)

// row is one argument of a real server. For a path, args carries an inside value and bad an outside one, which must be
// denied; for anything else args must raise no finding at all.
type row struct {
	n      int    // number of the argument in the table, from 1; one number may have several rows
	server string // serverInfo.name, "" for one without a profile
	tools  string
	args   string
	want   string // "pointer role" pairs, "" for no path
	bad    string // an outside call, "" to derive it from args by writing the outside directory for the project's
}

const (
	fsServer = "secure-filesystem-server"
	desk     = "desktop-commander"
	gitpy    = "mcp-git"
	gitcy    = "git-mcp-server"
	pw       = "Playwright"
	cdp      = "chrome_devtools"
	gh       = "github-mcp-server"
	gl       = "gitlab-mcp-server"
	fig      = "Figma MCP Server"
	fire     = "firecrawl-fastmcp"
	mongo    = "MongoDB MCP Server"
	kube     = "kubernetes"
	tm       = "Task Master MCP Server"
	mobile   = "mobile-mcp"
	xcode    = "xcodebuildmcp"
	excel    = "excel-mcp-server"
	repomix  = "repomix-mcp-server"
	rg       = "ripgrep-search"
)

var rows = []row{
	{n: 1, server: fsServer, tools: "read_file read_text_file read_media_file", args: `{"path":"{project}/a.txt"}`, want: "/path read"},
	{n: 2, server: fsServer, tools: "read_multiple_files", args: `{"paths":["{project}/a.txt","src/main.go"]}`, want: "/paths/0 read /paths/1 read"},
	{n: 3, server: fsServer, tools: "write_file", args: `{"path":"{project}/a.txt","content":"see /etc/passwd"}`, want: "/path write"},
	{n: 3, server: fsServer, tools: "edit_file", args: `{"path":"{project}/a.txt","edits":[{"oldText":"/etc/passwd","newText":"/etc/shadow"}]}`, want: "/path write"},
	{n: 4, server: fsServer, tools: "list_directory list_directory_with_sizes directory_tree get_file_info", args: `{"path":"{project}/src"}`, want: "/path read"},
	{n: 4, server: fsServer, tools: "create_directory", args: `{"path":"{project}/new/dir"}`, want: "/path write"},
	{n: 5, server: fsServer, tools: "move_file", args: `{"source":"{project}/a.txt","destination":"{project}/b.txt"}`, want: "/source delete /destination write"},
	{n: 6, server: fsServer, tools: "move_file", args: `{"source":"a.txt","destination":"{project}/b.txt"}`, want: "/source delete /destination write"},
	{n: 7, server: fsServer, tools: "search_files", args: `{"path":"{project}","pattern":"*.go"}`, want: "/path read"},
	{n: 8, server: fsServer, tools: "search_files", args: `{"pattern":"/usr/**"}`},
	{n: 9, server: fsServer, tools: "search_files directory_tree", args: `{"excludePatterns":["**/node_modules","/tmp/*"]}`},
	{n: 10, server: desk, tools: "read_file list_directory get_file_info start_search", args: `{"path":"{project}/a.txt"}`, want: "/path read"},
	{n: 10, server: desk, tools: "write_file create_directory", args: `{"path":"{project}/a.txt"}`, want: "/path write"},
	{n: 10, server: desk, tools: "read_file", args: `{"path":"https://example.com/etc/passwd","isUrl":true}`},
	{n: 11, server: desk, tools: "read_multiple_files", args: `{"paths":["{project}/a.txt"]}`, want: "/paths/0 read"},
	{n: 12, server: desk, tools: "move_file", args: `{"source":"{project}/a.txt","destination":"{project}/b"}`, want: "/source delete /destination write"},
	{n: 13, server: desk, tools: "edit_block", args: `{"file_path":"{project}/a.txt","old_string":"/etc","new_string":"x"}`, want: "/file_path write",
		bad: `{"file_path":"{outside}/a.txt"}`},
	{n: 14, server: desk, tools: "write_pdf", args: `{"path":"{project}/a.pdf","outputPath":"{project}/b.pdf"}`, want: "/path write /outputPath write"},
	{n: 15, server: desk, tools: "write_pdf", args: `{"content":[{"type":"insert","sourcePdfPath":"{project}/in.pdf"}]}`, want: "/content/0/sourcePdfPath read"},
	{n: 15, server: desk, tools: "write_pdf", args: `{"content":"[{\"type\":\"insert\",\"sourcePdfPath\":\"{project}/in.pdf\"}]"}`, want: "/content/0/sourcePdfPath read"},
	{n: 16, server: desk, tools: "start_search", args: `{"filePattern":"*.ts|/usr/*","pattern":"/home/.*"}`},
	{n: 17, server: desk, tools: "start_process", args: `{"command":"python3 -m venv .venv && ls -la","timeout_ms":1000}`},
	{n: 18, server: gitpy, tools: "git_status git_diff git_log git_show git_branch", args: `{"repo_path":"{project}"}`, want: "/repo_path read"},
	{n: 18, server: gitpy, tools: "git_commit git_reset git_checkout", args: `{"repo_path":"{project}"}`, want: "/repo_path write"},
	{n: 19, server: gitpy, tools: "git_add", args: `{"repo_path":"{project}","files":["src/main.go"]}`, want: "/repo_path write /files/0 write",
		bad: `{"repo_path":"{project}","files":["../outside/secret.txt"]}`},
	{n: 20, server: gitpy, tools: "git_diff", args: `{"target":"origin/main"}`},
	{n: 21, server: gitcy, tools: "git_status git_log", args: `{"path":"."}`, want: "/path read", bad: `{"path":"../outside"}`},
	{n: 21, server: gitcy, tools: "git_push", args: `{"path":"{project}"}`, want: "/path write"},
	{n: 22, server: gitcy, tools: "git_add git_checkout git_reset", args: `{"path":"{project}","paths":["src/main.go"]}`, want: "/path write /paths/0 write",
		bad: `{"path":"{project}","paths":["../outside/x"]}`},
	{n: 22, server: gitcy, tools: "git_diff", args: `{"path":"{project}","paths":["src/main.go"]}`, want: "/path read /paths/0 read"},
	{n: 23, server: gitcy, tools: "git_blame git_log git_show", args: `{"path":"{project}","filePath":"src/main.go"}`, want: "/path read /filePath read",
		bad: `{"path":"{project}","filePath":"link/secret.txt"}`},
	{n: 24, server: gitcy, tools: "git_commit", args: `{"filesToStage":["src/main.go"],"message":"/etc"}`, want: "/filesToStage/0 write", bad: `{"filesToStage":["../outside/x"]}`},
	{n: 25, server: gitcy, tools: "git_worktree", args: `{"worktreePath":"{project}/wt","newPath":"{project}/wt2"}`, want: "/worktreePath write /newPath write"},
	{n: 26, server: gitcy, tools: "git_clone", args: `{"url":"https://example.com/a/b.git"}`},
	{n: 26, server: gitcy, tools: "git_clone", args: `{"url":"git@example.com:/srv/repo.git"}`},
	{n: 26, server: gitcy, tools: "git_clone", args: `{"url":"{project}"}`, want: "/url write", bad: `{"url":"{outside}"}`},
	{n: 26, server: gitcy, tools: "git_clone", args: `{"url":"file://{project}"}`, want: "/url write", bad: `{"url":"file://{outside}"}`},
	{n: 27, server: gitcy, tools: "git_diff", args: `{"source":"HEAD~1","target":"feature/x"}`},
	{n: 28, server: gitcy, tools: "git_clean", args: `{"directories":true}`},
	{n: 29, server: pw, tools: "browser_take_screenshot browser_pdf_save browser_snapshot browser_evaluate browser_storage_state", args: `{"filename":"shots/a.png"}`, want: "/filename write", bad: `{"filename":"../outside/a.png"}`},
	{n: 30, server: pw, tools: "browser_run_code_unsafe", args: `{"filename":"{project}/a.js"}`, want: "/filename read"},
	{n: 31, server: pw, tools: "browser_file_upload browser_drop", args: `{"paths":["{project}/a.txt"]}`, want: "/paths/0 read"},
	{n: 32, server: pw, tools: "browser_cookie_set browser_cookie_list", args: `{"name":"x","path":"/"}`},
	{n: 33, server: pw, tools: "browser_route browser_unroute", args: `{"pattern":"/usr/**"}`},
	{n: 34, server: pw, tools: "browser_click", args: `{"target":"/html/body/div","element":"/home link"}`},
	{n: 35, server: pw, tools: "browser_resume", args: `{"location":"example.spec.ts:42"}`, want: "/location read", bad: `{"location":"{outside}/x.spec.ts:42"}`},
	{n: 36, server: pw, tools: "browser_navigate", args: `{"url":"https://example.com/../etc/passwd?x=/etc"}`},
	{n: 36, server: pw, tools: "browser_navigate", args: `{"url":"file://{project}/a.txt"}`, want: "/url write", bad: `{"url":"file:///etc/passwd"}`},
	{n: 37, server: cdp, tools: "take_screenshot take_snapshot take_heapsnapshot screencast_start performance_start_trace performance_stop_trace", args: `{"filePath":"{project}/a.png"}`, want: "/filePath write"},
	{n: 38, server: cdp, tools: "evaluate_script", args: `{"sourcePath":"{project}/a.js","filePath":"{project}/o.json","function":"() => '/etc/passwd'"}`, want: "/sourcePath read /filePath write"},
	{n: 39, server: cdp, tools: "get_network_request", args: `{"requestFilePath":"{project}/q","responseFilePath":"{project}/r"}`, want: "/requestFilePath write /responseFilePath write"},
	{n: 40, server: cdp, tools: "lighthouse_audit", args: `{"outputDirPath":"{project}/lh"}`, want: "/outputDirPath write"},
	{n: 41, server: cdp, tools: "upload_file", args: `{"filePaths":["{project}/a.txt"]}`, want: "/filePaths/0 read"},
	{n: 42, server: cdp, tools: "navigate_page", args: `{"initScript":"location.href = '/home'; fetch('/etc/passwd')"}`},
	{n: 43, server: cdp, tools: "emulate", args: `{"geolocation":"52.5x13.4"}`},
	{n: 44, server: gh, tools: "get_file_contents", args: `{"owner":"o","repo":"r","path":"/home/src/main.go"}`},
	{n: 45, server: gh, tools: "create_or_update_file", args: `{"path":"/usr/local/x","content":"y","branch":"b"}`},
	{n: 46, server: gh, tools: "push_files", args: `{"files":[{"path":"/etc/nginx.conf","content":"x"}]}`},
	{n: 47, server: gh, tools: "create_pull_request_review", args: `{"comments":[{"path":"/etc/x","body":"b"}]}`},
	{n: 48, server: gh, tools: "list_issues list_pull_requests", args: `{"direction":"desc"}`},
	{n: 48, tools: "list_issues", args: `{"direction":"desc"}`},
	{n: 49, server: gl, tools: "get_file_contents create_or_update_file", args: `{"file_path":"/etc/x"}`},
	{n: 50, server: gl, tools: "create_or_update_file", args: `{"previous_path":"/home/x"}`},
	{n: 51, server: gl, tools: "push_files", args: `{"files":[{"file_path":"/etc/x","content":"/etc"}]}`},
	{n: 52, server: gl, tools: "fork_repository create_issue", args: `{"project_id":"group%2Fproject"}`},
	{n: 53, server: fig, tools: "get_figma_data download_figma_images", args: `{"fileKey":"hQ2aVdXX"}`},
	{n: 53, tools: "get_figma_data", args: `{"fileKey":"hQ2aVdXX"}`},
	{n: 54, server: fig, tools: "download_figma_images", args: `{"localPath":"{project}/img"}`, want: "/localPath write"},
	{n: 55, server: fig, tools: "download_figma_images", args: `{"localPath":"{project}/src","nodes":[{"fileName":"a.png"}]}`, want: "/localPath write /nodes/0/fileName write",
		bad: `{"localPath":"{project}/src","nodes":[{"fileName":"../../outside/a.png"}]}`},
	{n: 56, server: fig, tools: "download_figma_images", args: `{"nodes":[{"filenameSuffix":"-dark"}]}`},
	{n: 57, server: fire, tools: "firecrawl_crawl", args: `{"includePaths":["/home/.*"],"excludePaths":["/etc/.*"]}`},
	{n: 58, server: fire, tools: "firecrawl_scrape firecrawl_crawl firecrawl_search", args: `{"profile":{"name":"/etc"}}`},
	{n: 58, tools: "firecrawl_scrape", args: `{"profile":{"name":"work"}}`},
	{n: 59, server: fire, tools: "firecrawl_parse", args: `{"filePath":"{project}/a.pdf"}`, want: "/filePath read"},
	{n: 60, server: fire, tools: "firecrawl_scrape", args: `{"actions":[{"direction":"down","script":"open('/etc/passwd')"}]}`},
	{n: 61, server: fire, tools: "firecrawl_search", args: `{"location":"Berlin"}`},
	{n: 62, server: "tavily-mcp", tools: "tavily_crawl tavily_map", args: `{"select_paths":["/usr/.*","/home/.*"]}`},
	{n: 63, server: "tavily-mcp", tools: "tavily_research", args: `{"input":"What does /etc/passwd hold?"}`},
	{n: 64, server: mongo, tools: "aggregate explain export", args: `{"pipeline":[{"$vectorSearch":{"path":"plot.embedding"}}]}`},
	{n: 65, server: mongo, tools: "create-index", args: `{"definition":[{"fields":[{"path":"/etc"}]}]}`},
	{n: 66, server: mongo, tools: "rename-collection", args: `{"dropTarget":true}`},
	{n: 67, server: kube, tools: "kubectl_apply kubectl_create kubectl_delete", args: `{"filename":"{project}/k.yaml"}`, want: "/filename read"},
	{n: 68, server: kube, tools: "kubectl_create", args: `{"fromFile":["key={project}/a.txt"]}`, want: "/fromFile/0 read", bad: `{"fromFile":["key=/etc/passwd"]}`},
	{n: 69, server: kube, tools: "kubectl_create", args: `{"fromFileContent":[{"key":"/etc/x","content":"y"}]}`},
	{n: 70, server: kube, tools: "kubectl_patch", args: `{"patchFile":"{project}/p.yaml"}`, want: "/patchFile read"},
	{n: 71, server: kube, tools: "install_helm_chart upgrade_helm_chart", args: `{"valuesFile":"{project}/v.yaml"}`, want: "/valuesFile read"},
	{n: 72, server: kube, tools: "install_helm_chart", args: `{"chart":"nginx"}`},
	{n: 72, server: kube, tools: "install_helm_chart", args: `{"chart":"{project}/chart"}`, want: "/chart write", bad: `{"chart":"{outside}/chart"}`},
	{n: 73, server: kube, tools: "kubectl_get", args: `{"output":"yaml"}`},
	{n: 74, server: kube, tools: "explain_resource", args: `{"resource":"pods.spec.containers"}`},
	{n: 75, server: tm, tools: "next_task set_task_status", args: `{"projectRoot":"{project}"}`, want: "/projectRoot write"},
	{n: 76, server: tm, tools: "get_tasks", args: `{"projectRoot":"{project}","file":"src/tasks.json"}`, want: "/projectRoot write /file write", bad: `{"projectRoot":"{project}","file":"../outside/t.json"}`},
	{n: 77, server: tm, tools: "parse_prd", args: `{"input":"{project}/prd.txt"}`, want: "/input read"},
	{n: 78, server: tm, tools: "parse_prd generate analyze_project_complexity", args: `{"output":"{project}/out"}`, want: "/output write"},
	{n: 79, server: tm, tools: "next_task", args: `{"complexityReport":"{project}/r.json"}`, want: "/complexityReport read"},
	{n: 80, server: tm, tools: "research", args: `{"filePaths":"src/a.ts,src/b.ts"}`, want: "/filePaths read", bad: `{"filePaths":"src/a.ts,{outside}/secret.txt"}`},
	{n: 81, server: tm, tools: "research", args: `{"saveTo":"15.2"}`},
	{n: 82, server: tm, tools: "autopilot_commit", args: `{"projectRoot":"{project}","files":["src/main.go"]}`, want: "/projectRoot write /files/0 write", bad: `{"projectRoot":"{project}","files":["../outside/x"]}`},
	{n: 83, server: tm, tools: "rules", args: `{"profiles":["cursor","roo"]}`},
	{n: 84, server: tm, tools: "research", args: `{"saveToFile":true}`},
	{n: 85, server: mobile, tools: "mobile_save_screenshot mobile_get_device_logs", args: `{"saveTo":"{project}/s.png"}`, want: "/saveTo write"},
	{n: 86, server: mobile, tools: "mobile_install_app", args: `{"path":"{project}/a.apk"}`, want: "/path read"},
	{n: 87, server: mobile, tools: "mobile_start_screen_recording", args: `{"output":"{project}/r.mp4"}`, want: "/output write"},
	{n: 88, server: mobile, tools: "mobile_swipe_on_screen", args: `{"direction":"up"}`},
	{n: 89, server: xcode, tools: "session_set_defaults list_schemes", args: `{"projectPath":"{project}/a.xcodeproj","workspacePath":"{project}/w","derivedDataPath":"{project}/dd"}`, want: "/projectPath read /workspacePath read /derivedDataPath write"},
	{n: 90, server: xcode, tools: "test_sim build_sim install_app_sim get_coverage_report", args: `{"testProductsPath":"{project}/t","xctestrunPath":"{project}/x","appPath":"{project}/a.app","xcresultPath":"{project}/r"}`, want: "/testProductsPath read /xctestrunPath read /appPath read /xcresultPath read"},
	{n: 91, server: xcode, tools: "discover_projs", args: `{"workspaceRoot":"{project}","scanPath":"src"}`, want: "/workspaceRoot read /scanPath read"},
	{n: 92, server: xcode, tools: "record_sim_video", args: `{"outputFile":"{project}/v.mp4"}`, want: "/outputFile write"},
	{n: 93, server: xcode, tools: "get_file_coverage", args: `{"file":"Main.swift"}`, want: "/file read", bad: `{"file":"{outside}/Main.swift"}`},
	{n: 94, server: xcode, tools: "session_use_defaults_profile", args: `{"profile":"ios"}`},
	{n: 95, server: xcode, tools: "get_coverage_report", args: `{"showFiles":true}`},
	{n: 96, server: excel, tools: "excel_describe_sheets excel_read_sheet excel_screen_capture", args: `{"fileAbsolutePath":"{project}/a.xlsx"}`, want: "/fileAbsolutePath read"},
	{n: 96, server: excel, tools: "excel_write_to_sheet excel_create_table excel_copy_sheet", args: `{"fileAbsolutePath":"{project}/a.xlsx"}`, want: "/fileAbsolutePath write"},
	{n: 97, server: excel, tools: "excel_copy_sheet", args: `{"srcSheetName":"Sheet1","dstSheetName":"Sheet2"}`},
	{n: 98, server: repomix, tools: "pack_codebase generate_skill", args: `{"directory":"{project}"}`, want: "/directory read"},
	{n: 99, server: repomix, tools: "attach_packed_output file_system_read_file file_system_read_directory", args: `{"path":"{project}/a.txt"}`, want: "/path read"},
	{n: 100, server: repomix, tools: "pack_codebase pack_remote_repository", args: `{"includePatterns":"src/**/*.ts,/usr/**","ignorePatterns":"dist/**"}`},
	{n: 101, server: repomix, tools: "pack_codebase", args: `{"topFilesLength":10}`},
	{n: 102, server: repomix, tools: "read_repomix_output", args: `{"outputId":"a1b2"}`},
	{n: 103, server: "ESLint", tools: "lint-files", args: `{"filePaths":["{project}/src/a.ts"]}`, want: "/filePaths/0 read"},
	{n: 104, server: "markitdown", tools: "convert_to_markdown", args: `{"uri":"https://example.com/etc/passwd"}`},
	{n: 104, server: "markitdown", tools: "convert_to_markdown", args: `{"uri":"data:text/plain;base64,L2V0Yw=="}`},
	{n: 104, server: "markitdown", tools: "convert_to_markdown", args: `{"uri":"file://{project}/a.txt"}`, want: "/uri read", bad: `{"uri":"file:///etc/passwd"}`},
	{n: 105, server: "markitdown", tools: "convert_file", args: `{"file_path":"{project}/a.docx"}`, want: "/file_path read"},
	{n: 105, server: "markitdown", tools: "convert_directory", args: `{"dir_path":"{project}/docs"}`, want: "/dir_path read"},
	{n: 106, server: "Serena", tools: "read_file list_dir find_file", args: `{"relative_path":"src/main.go"}`, want: "/relative_path read", bad: `{"relative_path":"../outside/secret.txt"}`},
	{n: 106, server: "Serena", tools: "create_text_file replace_symbol_body", args: `{"relative_path":"src/new.go","content":"x"}`, want: "/relative_path write", bad: `{"relative_path":"../outside/new.txt"}`},
	{n: 107, server: "Serena", tools: "search_for_pattern", args: `{"paths_include_glob":"/usr/**/*.go"}`},
	{n: 108, server: "mcp-obsidian", tools: "obsidian_get_file_contents obsidian_append_content obsidian_delete_file", args: `{"filepath":"/home/note.md"}`},
	{n: 109, server: "mcp-obsidian", tools: "obsidian_list_files_in_dir", args: `{"dirpath":"/etc"}`},
	{n: 110, server: "mcp-obsidian", tools: "obsidian_patch_content", args: `{"target":"Outer::Inner"}`},
	{n: 111, server: "mcp-servers/everything", tools: "gzip-file-as-resource", args: `{"name":"/usr/x.gz","data":"https://example.com/x"}`},
	{n: 112, server: "mcp-servers/everything", tools: "get-structured-content", args: `{"location":"New York"}`},
	{n: 113, server: "Notion API", tools: "API-post-search", args: `{"query":"/etc","sort":{"direction":"ascending","timestamp":"last_edited_time"}}`},
	{n: 114, server: "mcp-fetch", tools: "fetch", args: `{"url":"https://example.com/home","max_length":100}`},
	{n: 115, server: "Context7", tools: "get-library-docs query-docs", args: `{"context7CompatibleLibraryID":"/vercel/next.js","libraryId":"/home/assistant"}`},
	{n: 115, tools: "get-library-docs", args: `{"context7CompatibleLibraryID":"/vercel/next.js"}`},
	{n: 116, server: pw, tools: "browser_press_key", args: `{"key":"/"}`},
	{n: 117, server: pw, tools: "browser_type", args: `{"text":"/etc/passwd"}`},
	{n: 117, server: pw, tools: "browser_fill_form", args: `{"fields":[{"name":"n","value":"/etc/passwd"}]}`},
	{n: 118, server: pw, tools: "browser_network_requests", args: `{"filter":"/api/"}`},
	{n: 118, tools: "list_requests", args: `{"filter":"/api/"}`},
	{n: 119, server: "memory-server", tools: "add_observations create_entities", args: `{"observations":[{"entityName":"/etc","contents":["/etc/passwd is a file"]}],"entities":[{"name":"/home","observations":["~/x"]}]}`},
	{n: 120, server: "sequential-thinking-server", tools: "sequentialthinking", args: `{"thought":"/etc/passwd? ~5 more"}`},
	{n: 120, tools: "sequentialthinking", args: `{"thought":"~5 items; /etc holds them"}`},
	{n: 121, server: gitpy, tools: "git_diff git_log", args: `{"target":"main..HEAD","start_timestamp":"2024-01-01"}`},
	{n: 121, tools: "git_diff", args: `{"target":"main..HEAD"}`},
	{n: 122, tools: "search", args: `{"query":"@/components/x","pattern":"/cc @bob"}`},
	{n: 122, tools: "search", args: `{"pattern":"@/components/x","query":"/cc @bob"}`},
	{n: 122, server: rg, tools: "search advanced-search count-matches", args: `{"path":"{project}","pattern":"/etc/passwd","filePattern":"/src/**"}`, want: "/path read"},
	{n: 122, server: rg, tools: "search advanced-search count-matches", args: `{"path":"src","pattern":"~/.ssh"}`, want: "/path read",
		bad: `{"path":"src","pattern":"--file=/etc/passwd"}`},
	{n: 122, server: rg, tools: "list-files", args: `{"path":"{project}","filePattern":"../**"}`, want: "/path read"},
	{n: 123, server: "Serena", tools: "find_symbol", args: `{"name_path":"/Foo/bar"}`},
}

// TestRealServers is the acceptance table of detection: 123 arguments of real servers under the shipped defaults and
// profiles. Precision and recall are both 1.
func TestRealServers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.checker()
	var found, missed, wrong int
	covered := make(map[int]bool)
	for _, r := range rows {
		covered[r.n] = true
		for name := range strings.FieldsSeq(r.tools) {
			tool := w.tool(c, r.server, fmt.Sprintf(`{"name":%q}`, name))
			s, v := w.call(c, tool, r.args)
			got := map[string]access.Role{}
			for _, f := range s.Findings() {
				if !f.Conditional() {
					got[f.Pointer] = max(f.Role, got[f.Pointer])
				}
			}
			want := map[string]access.Role{}
			for f := strings.Fields(r.want); len(f) > 0; f = f[2:] {
				role, err := access.Parse(f[1])
				w.must(err)
				want[f[0]] = role
			}
			for p, role := range want {
				if got[p] == role {
					found++
				} else {
					missed++
					t.Errorf("row %d %s %s: %s found as %v, want %v", r.n, r.server, name, p, got[p], role)
				}
			}
			for p, role := range got {
				if want[p] == access.None {
					wrong++
					t.Errorf("row %d %s %s: %s taken for a path to %v", r.n, r.server, name, p, role)
				}
			}
			if v.Decision != policy.Allow {
				wrong++
				t.Errorf("row %d %s %s: honest call %s denied: %+v", r.n, r.server, name, r.args, v.Deciding)
			}
			if r.want == "" {
				continue
			}
			bad := r.bad
			if bad == "" {
				bad = strings.ReplaceAll(r.args, "{project}", "{outside}")
			}
			if _, v := w.call(c, tool, bad); v.Decision != policy.Deny {
				missed++
				t.Errorf("row %d %s %s: %s was not denied: %+v", r.n, r.server, name, bad, v.Findings)
			}
		}
	}
	for n := 1; n <= 123; n++ {
		if !covered[n] {
			t.Errorf("row %d is missing", n)
		}
	}
	t.Logf("%d rows: precision %.3f, recall %.3f", len(covered), float64(found)/float64(found+wrong), float64(found)/float64(found+missed))
}

// TestNaiveKeyRule is the control of the table: a rule on key names alone is wrong both ways on the same rows.
func TestNaiveKeyRule(t *testing.T) {
	t.Parallel()
	var wrong, missed int
	for _, r := range rows {
		naive := slices.ContainsFunc([]string{`path"`, `file"`, `dir"`, `Path"`, `File"`}, func(s string) bool { return strings.Contains(r.args, s) })
		if naive && r.want == "" {
			wrong++
		}
		if !naive && r.want != "" {
			missed++
		}
	}
	if wrong < 5 || missed < 5 {
		t.Errorf("the naive rule is wrong on %d and misses %d rows; the table should show it failing both ways", wrong, missed)
	}
}

// TestProfilesOfTheTable: every server of the table has a profile.
func TestProfilesOfTheTable(t *testing.T) {
	t.Parallel()
	for _, r := range rows {
		if r.server != "" && declare.ByServer(r.server) == nil {
			t.Errorf("row %d: no profile for %s", r.n, r.server)
		}
	}
}
