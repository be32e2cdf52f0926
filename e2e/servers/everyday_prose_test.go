package servers

// What these servers are told is prose, names and numbers. Much of it looks like a path.

var everydayEverything = []honest{
	{tool: "echo", arguments: `{"message":"hello"}`, want: "hello"},
	{tool: "echo", arguments: `{"message":"see src/main.go:12 and ../../README.md"}`, want: "../../README.md"},
	{tool: "echo", arguments: `{"message":"/etc/passwd lists the users; and/or ~/.bashrc"}`, want: "lists the users"},
	{tool: "echo", arguments: `{"message":"/etc/passwd"}`, want: "/etc/passwd"},
	{tool: "echo", arguments: `{"message":"https://example.com/a/../b?next=/etc/passwd#/home"}`, want: "#/home"},
	{tool: "echo", arguments: `{"message":"🎉 done: 50% / 100% 👩‍👩‍👧"}`, want: "🎉 done"},
	{tool: "echo", arguments: `{"message":"/review this pull request"}`, want: "/review this"},
	{tool: "echo", arguments: `{"message":"/review"}`, want: "/review"},
	{tool: "echo", arguments: `{"message":"~5 items"}`, want: "~5 items"},
	{tool: "echo", arguments: `{"message":"C:\\Users\\me\\notes.txt and \\\\server\\share"}`, want: `C:\Users\me`},
	{tool: "echo", arguments: `{"message":"--- a/etc/hosts\n+++ b/etc/hosts\n@@ -1 +1 @@\n-/usr\n+/opt\n"}`, want: "+/opt"},
	{tool: "echo", arguments: `{"message":"{\"path\":\"src/main.go\",\"line\":3}"}`, want: "src/main.go"},
	{tool: "echo", arguments: `{"message":""}`},
	{tool: "get-sum", arguments: `{"a":1,"b":-2.5}`, want: "-1.5"},
	{tool: "get-annotated-message", arguments: `{"messageType":"success","includeImage":true}`},
	{tool: "get-structured-content", arguments: `{"location":"New York"}`},
	{tool: "get-resource-links", arguments: `{"count":2}`},
	{tool: "get-resource-reference", arguments: `{"resourceType":"Text","resourceId":1}`},
	{tool: "get-tiny-image", arguments: `{}`},
	{tool: "gzip-file-as-resource", arguments: `{"name":"README.md.gz","data":"data:text/plain;base64,L2V0Yy9wYXNzd2Q=","outputType":"resource"}`},
	{tool: "trigger-long-running-operation", arguments: `{"duration":0.2,"steps":2}`, want: "completed"},
	{tool: "toggle-subscriber-updates", arguments: `{}`},
	{tool: "toggle-subscriber-updates", arguments: `{}`},
}

var everydayMemory = []honest{
	{tool: "read_graph", arguments: `{}`},
	{tool: "create_entities", arguments: `{"entities":[{"name":"src/main.go","entityType":"file","observations":["opens /etc/passwd","lives in {project}/src"]},{"name":"/etc/nginx/nginx.conf","entityType":"path","observations":["see file:///etc/nginx","included from ../sites"]}]}`, want: "src/main.go"},
	{tool: "create_entities", arguments: `{"entities":[{"name":"../shared","entityType":"folder/sibling","observations":[]},{"name":"~/notes","entityType":"path","observations":["~5 items"]}]}`, want: "../shared"},
	{tool: "create_entities", arguments: `{"entities":[{"name":"Ada 👩‍💻","entityType":"person","observations":["likes a/b tests"]},{"name":"/api/users","entityType":"route","observations":["GET /api/users?path=/etc"]}]}`, want: "Ada"},
	{tool: "create_relations", arguments: `{"relations":[{"from":"src/main.go","to":"/etc/nginx/nginx.conf","relationType":"reads"},{"from":"../shared","to":"~/notes","relationType":"is mentioned in"}]}`, want: "reads"},
	{tool: "create_relations", arguments: `{"relations":[{"from":"Ada 👩‍💻","to":"/api/users","relationType":"owns/maintains"}]}`, want: "owns/maintains"},
	{tool: "add_observations", arguments: `{"observations":[{"entityName":"src/main.go","contents":["/usr/bin/env go run .","The log goes to /var/log/app.log","../.."]}]}`, want: "/var/log/app.log"},
	{tool: "add_observations", arguments: `{"observations":[{"entityName":"/api/users","contents":["/etc/passwd","file:///etc/hosts is a URL","C:\\Users\\me"]}]}`, want: "/etc/passwd"},
	{tool: "search_nodes", arguments: `{"query":"/etc"}`, want: "nginx"},
	{tool: "search_nodes", arguments: `{"query":"../shared"}`, want: "../shared"},
	{tool: "search_nodes", arguments: `{"query":"~/notes"}`, want: "~5 items"},
	{tool: "search_nodes", arguments: `{"query":"/etc/passwd"}`, want: "src/main.go"},
	{tool: "open_nodes", arguments: `{"names":["src/main.go","/etc/nginx/nginx.conf"]}`, want: "included from ../sites"},
	{tool: "open_nodes", arguments: `{"names":["../shared","no such node"]}`, want: "folder/sibling"},
	{tool: "delete_observations", arguments: `{"deletions":[{"entityName":"src/main.go","observations":["../..","/usr/bin/env go run ."]}]}`},
	{tool: "delete_relations", arguments: `{"relations":[{"from":"../shared","to":"~/notes","relationType":"is mentioned in"}]}`},
	{tool: "delete_entities", arguments: `{"entityNames":["/etc/nginx/nginx.conf","../shared"]}`},
	{tool: "read_graph", arguments: `{}`, want: "owns/maintains"},
}

var everydayThinking = []honest{
	{tool: "sequentialthinking", arguments: `{"thought":"/ is the root and ~ is home; where does the build go?","nextThoughtNeeded":true,"thoughtNumber":1,"totalThoughts":4}`},
	{tool: "sequentialthinking", arguments: `{"thought":"/etc/passwd is mentioned in src/main.go, harmless","nextThoughtNeeded":true,"thoughtNumber":2,"totalThoughts":4}`},
	{tool: "sequentialthinking", arguments: `{"thought":"/etc/passwd","nextThoughtNeeded":"true","thoughtNumber":3,"totalThoughts":4}`},
	{tool: "sequentialthinking", arguments: `{"thought":"~5 items are left, see ../../TODO.md","nextThoughtNeeded":true,"thoughtNumber":4,"totalThoughts":6,"needsMoreThoughts":true}`},
	{tool: "sequentialthinking", arguments: `{"thought":"../.. was wrong, it is ./dist","nextThoughtNeeded":true,"thoughtNumber":5,"totalThoughts":6,"isRevision":true,"revisesThought":2}`},
	{tool: "sequentialthinking", arguments: `{"thought":"/plan: copy {project}/src to /opt/app, then file:///opt/app","nextThoughtNeeded":true,"thoughtNumber":6,"totalThoughts":7,"branchFromThought":4,"branchId":"feature/copy"}`, want: "feature/copy"},
	{tool: "sequentialthinking", arguments: `{"thought":"✅ done / shipped","nextThoughtNeeded":false,"thoughtNumber":7,"totalThoughts":7}`, want: "7"},
}
