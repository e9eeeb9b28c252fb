// SPDX-License-Identifier: Apache-2.0

package main

import (
	"regexp"

	"github.com/rogpeppe/go-internal/testscript"
)

var printedToken = regexp.MustCompile(`--token (\S+)`)

// setToken sets $TOKEN to the token that the last command printed: token.
func setToken(ts *testscript.TestScript, _ bool, _ []string) {
	text := ts.ReadFile("stderr")
	found := printedToken.FindStringSubmatch(text)
	if found == nil {
		ts.Fatalf("no token in %q", text)
	}
	ts.Setenv("TOKEN", found[1])
}
