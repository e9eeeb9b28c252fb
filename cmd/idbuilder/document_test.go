// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// tested matches the commands of the documentation that a test runs, and their names.
var tested = regexp.MustCompile("(?s)<!-- tested: ([^\n]*) -->\n```sh\n(.*?)```")

// TestDocumented runs the commands of docs/idbuilder.md, on a server at a free
// port and with its token.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/idbuilder.md")
	if err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	for _, block := range tested.FindAllStringSubmatch(string(text), -1) {
		script.WriteString("echo '== " + block[1] + "'\n" + strings.ReplaceAll(block[2], "export TOKEN=…", ": "))
	}
	run(t, nil, commands{"document": func(ts *testscript.TestScript, _ bool, _ []string) {
		commands := strings.ReplaceAll(script.String(), "localhost:8080", strings.TrimPrefix(ts.Getenv("URL"), "http://"))
		ts.Check(os.WriteFile(ts.MkAbs("commands.sh"), []byte(commands), 0o600))
	}}, "testdata/document/*.txtar")
}
