// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestUnexported(t *testing.T) {
	for name, want := range map[string]string{
		"ID": "id", "TenantID": "tenantID", "URL": "url", "URLs": "urls", "HTTPStatus": "httpStatus", "A": "a", "AB": "ab",
		"IPv6Address": "iPv6Address", "CreatedAt": "createdAt", "X_Y": "x_Y", "already": "already",
	} {
		if got := unexported(name); got != want {
			t.Errorf("unexported(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestSnakeCase(t *testing.T) {
	for name, want := range map[string]string{
		"ID": "id", "TenantID": "tenant_id", "URL": "url", "URLs": "urls", "HTTPStatus": "http_status", "A": "a", "AB": "ab",
		"IPv6Address": "i_pv6_address", "CreatedAt": "created_at", "X_Y": "x_y", "already": "already",
	} {
		if got := snakeCase(name); got != want {
			t.Errorf("snakeCase(%q) = %q, want %q", name, got, want)
		}
	}
}

// TestIndexNamesAreInjective: different lists of names never have one name.
func TestIndexNamesAreInjective(t *testing.T) {
	names := rapid.SliceOfN(rapid.StringMatching(`[A-Za-z]([_A-Za-z]{0,3}[A-Za-z])?_?`), 1, 4)
	rapid.Check(t, func(t *rapid.T) {
		a, b := names.Draw(t, "a"), names.Draw(t, "b")
		if slices.Equal(a, b) {
			return
		}
		if x, y := indexName(a[0], a[1:]...), indexName(b[0], b[1:]...); x == y {
			t.Fatalf("%q and %q are both named %s", a, b, x)
		}
	})
}

func TestTagBytes(t *testing.T) {
	cases := []struct {
		number int32
		typ    int
		want   string
	}{
		{1, 0, "0x08"},
		{15, 2, "0x7a"},
		{16, 2, "0x82, 0x01"},
		{2047, 5, "0xfd, 0x7f"},
		{2048, 0, "0x80, 0x80, 0x01"},
		{maxNumber, 2, "0xfa, 0xff, 0xff, 0xff, 0x0f"},
	}
	for _, c := range cases {
		if got := tagBytes(c.number, c.typ); got != c.want {
			t.Errorf("tagBytes(%d, %d) = %s, want %s", c.number, c.typ, got, c.want)
		}
	}
}

func TestUnifiedDiff(t *testing.T) {
	old := "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\n"
	now := "a\nB\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\n"
	want := `--- x
+++ x (generated)
@@ -1,5 +1,5 @@
 a
-b
+B
 c
 d
 e
@@ -9,3 +9,4 @@
 i
 j
 k
+l
`
	if diff := cmp.Diff(want, string(unifiedDiff("x", []byte(old), []byte(now)))); diff != "" {
		t.Errorf("unifiedDiff mismatch (-want +got):\n%s", diff)
	}
	if got := unifiedDiff("x", []byte(old), []byte(old)); got != nil {
		t.Errorf("equal texts differ: %s", got)
	}
	if got, want := string(unifiedDiff("x", nil, []byte("a\n"))), "--- x\n+++ x (generated)\n@@ -0,0 +1,1 @@\n+a\n"; got != want {
		t.Errorf("diff of a new file is %q, want %q", got, want)
	}
}

// TestEditScript: a script turns one text into the other, and is no longer than
// the longest common subsequence leaves.
func TestEditScript(t *testing.T) {
	text := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 0, 12)
	rapid.Check(t, func(t *rapid.T) {
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		var from, to []string
		edits := 0
		for _, e := range editScript(a, b) {
			if e.op != '+' {
				from = append(from, e.line)
			}
			if e.op != '-' {
				to = append(to, e.line)
			}
			if e.op != ' ' {
				edits++
			}
		}
		if !slices.Equal(from, a) || !slices.Equal(to, b) {
			t.Fatalf("the script leads from %q to %q, not from %q to %q", from, to, a, b)
		}
		if want := len(a) + len(b) - 2*commonLength(a, b); edits != want {
			t.Fatalf("%d edits from %q to %q, want %d", edits, a, b, want)
		}
	})
}

// commonLength is the length of the longest common subsequence, plainly.
func commonLength(a, b []string) int {
	switch {
	case len(a) == 0 || len(b) == 0:
		return 0
	case a[0] == b[0]:
		return 1 + commonLength(a[1:], b[1:])
	}
	table := make([][]int, len(a)+1)
	for i := range table {
		table[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			table[i][j] = max(table[i+1][j], table[i][j+1])
			if a[i] == b[j] {
				table[i][j] = 1 + table[i+1][j+1]
			}
		}
	}
	return table[0][0]
}

// FuzzTag: any literal is read as a tag or refused; positions stay inside it.
func FuzzTag(f *testing.F) {
	for _, seed := range []string{"`persist:\"index\"`", "\"persist:\\\"a,b=c\\\"\"", "`json:\"x\" persist:\"tenants/{T}/o,layer=partition\"`", "`persist:\"\\u00e9,\\x41\"`", "`", "``"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, literal string) {
		tag, found, at, err := parseTag(literal)
		if at < 0 || at > len(literal) {
			t.Fatalf("%q: fault at %d", literal, at)
		}
		if !found || err != nil {
			return
		}
		inside := func(what string, at int) {
			if at < 0 || at >= len(literal) {
				t.Fatalf("%q: %s at %d", literal, what, at)
			}
		}
		for _, w := range tag.words() {
			inside("word", w.at)
			inside("value", w.valueAt)
		}
		_, faults := parseFieldOptions(tag)
		_, more := parseIndexOptions(tag)
		_, evenMore := parsePath(tag)
		for _, one := range slices.Concat(faults, more, evenMore) {
			inside(one.message, one.at)
		}
	})
}

// TestTagPositions: the offset of a byte of a tag's value is that of its source,
// in raw and in interpreted literals, escapes included.
func TestTagPositions(t *testing.T) {
	cases := []struct{ literal, word string }{
		{"`json:\"a\" persist:\"index, name=Bee\"`", "name=Bee"},
		{`"json:\"a\" persist:\"index, name=Bee\""`, "name=Bee"},
		{`"j\x73on:\"\u00e9\" persist:\"\u0069ndex,name=Bee\""`, "name=Bee"},
	}
	for _, c := range cases {
		tag, found, _, err := parseTag(c.literal)
		if err != nil || !found || len(tag.words()) != 2 {
			t.Errorf("parseTag(%s) = %q, %v, %v", c.literal, tag.text, found, err)
			continue
		}
		w := tag.words()[1]
		if !strings.HasPrefix(c.literal[w.at:], c.word) || !strings.HasPrefix(c.literal[w.valueAt:], "Bee") {
			t.Errorf("%s: word at %q, value at %q", c.literal, c.literal[w.at:], c.literal[w.valueAt:])
		}
		if tag.words()[0].text != "index" {
			t.Errorf("%s: first word %q", c.literal, tag.words()[0].text)
		}
	}
}

func TestNameConstraints(t *testing.T) {
	cases := map[string]string{
		"order.go": "", "linux.go": "", "order_linux.go": "linux", "order_amd64.go": "amd64",
		"order_linux_amd64.go": "linux amd64", "order_amd64_linux.go": "linux", "/a_linux/b.go": "", "x_other.go": "",
	}
	for file, want := range cases {
		if got := strings.Join(nameConstraints(file), " "); got != want {
			t.Errorf("nameConstraints(%s) = %q, want %q", file, got, want)
		}
	}
}

func TestOptionsValidate(t *testing.T) {
	cases := []struct {
		options Options
		want    []string
	}{
		{Options{}, nil},
		{Options{Check: true, Proto: true}, nil},
		{Options{Check: true, Fix: true}, []string{"-check writes nothing"}},
		{Options{Check: true, Against: "main"}, nil},
		{Options{Against: "main"}, []string{"-against goes with -check"}},
		{Options{Explain: true, Proto: true, Patterns: []string{""}}, []string{"-explain only prints", "pattern is empty"}},
	}
	for _, c := range cases {
		text := fmt.Sprint(c.options.Validate())
		if (c.want == nil) != (text == "<nil>") {
			t.Errorf("Validate of %+v: %s", c.options, text)
		}
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("Validate of %+v: %s; want %s", c.options, text, want)
			}
		}
	}
}
