// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb

package fdbkv_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The client's header declares all that internal/fdbheader does, and the same: a
// C compiler refuses a second declaration that differs.
func TestDeclarationsAgree(t *testing.T) {
	source := "#define FDB_API_VERSION 730\n#include <foundationdb/fdb_c.h>\n#include \"functions.h\"\n"
	if out, err := compile(t, source); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	other := source + "int fdb_future_cancel(int);\n"
	if _, err := compile(t, other); err == nil {
		t.Error("the compiler takes a declaration that differs")
	}
}

func compile(t *testing.T, source string) ([]byte, error) {
	t.Helper()
	args := append(strings.Fields(os.Getenv("CGO_CFLAGS")), "-I../../internal/fdbheader", "-fsyntax-only", "-Werror=implicit-function-declaration", "-x", "c", "-")
	cc := exec.CommandContext(t.Context(), compiler(), args...)
	cc.Stdin = strings.NewReader(source)
	return cc.CombinedOutput()
}

func compiler() string {
	if cc := os.Getenv("CC"); cc != "" {
		return cc
	}
	return "cc"
}
