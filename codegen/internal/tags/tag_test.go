// SPDX-License-Identifier: Apache-2.0

package tags

import (
	"slices"
	"strings"
	"testing"
)

// FuzzTag: any literal is read as a tag or refused; positions stay inside it.
func FuzzTag(f *testing.F) {
	for _, seed := range []string{"`persist:\"index\"`", "\"persist:\\\"a,b=c\\\"\"", "`json:\"x\" persist:\"tenants/{T}/o,layer=partition\"`", "`persist:\"A desc,cover=A+ B,where=A='\\\\x41,' and not B and C>=-1.5,by=\"`", "\"persist:\\\"A,where=B=\\\\\\\"x,y\\\\\\\"\\\"\"", "`persist:\"\\u00e9,\\x41\"`", "`", "``"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, literal string) {
		tag, found, at, err := Parse(literal)
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
		for _, w := range tag.Words() {
			inside("word", w.Offset)
			inside("value", w.ValueOffset)
		}
		_, faults := ParseFieldOptions(tag)
		_, more := ParseIndexOptions(tag)
		_, evenMore := ParsePath(tag)
		_, ofCount := ParseAggregateOptions(tag, "Count")
		_, ofSum := ParseAggregateOptions(tag, "Sum")
		for _, one := range slices.Concat(faults, more, evenMore, ofCount, ofSum) {
			inside(one.Message, one.Offset)
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
		tag, found, _, err := Parse(c.literal)
		if err != nil || !found || len(tag.Words()) != 2 {
			t.Errorf("parseTag(%s) = %q, %v, %v", c.literal, tag.text, found, err)
			continue
		}
		w := tag.Words()[1]
		if !strings.HasPrefix(c.literal[w.Offset:], c.word) || !strings.HasPrefix(c.literal[w.ValueOffset:], "Bee") {
			t.Errorf("%s: word at %q, value at %q", c.literal, c.literal[w.Offset:], c.literal[w.ValueOffset:])
		}
		if tag.Words()[0].Text != "index" {
			t.Errorf("%s: first word %q", c.literal, tag.Words()[0].Text)
		}
	}
}

// TestKeys: whatever is nearly a persist key is a fault at its place, and a tag without
// one is none of persistgen's business.
func TestKeys(t *testing.T) {
	for literal, want := range map[string]string{
		"`persist:\"index\" json:\"a\"`":            "",
		"`json:\"-\",persist:\"-\"`":                `,persist:"-"`,
		"`persist:\"-\",json:\"-\"`":                `,json:"-"`,
		"`json:\"a\";persist:\"-\"`":                `;persist:"-"`,
		"`json:\"a\",xml:\"a\" persist:\"-\"`":      `,xml:"a"`,
		"`json:\"a\"persist:\"-\"`":                 "",
		"`Persist:\"index\"`":                       "Persist",
		"`json:\"a\" PERSIST:\"index\"`":            "PERSIST",
		"`persistable:\"index\"`":                   "persistable",
		"`persistent:\"index\"`":                    "persistent",
		"`ersist:\"index\"`":                        "ersist",
		"`persist:\"index\" persist:\"cover\"`":     `persist:"cover"`,
		"`persist:\"index\" Persist:\"cover\"`":     `Persist:"cover"`,
		"`persist:\"index\" json:a`":                "json:a",
		"`json:\"a\",xml:\"b\" parse:\"x\" p:\"\"`": "",
	} {
		_, found, at, err := Parse(literal)
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(literal[at:], want) || found && err != nil {
			t.Errorf("%s: %v, %v at %q; want a fault at %q", literal, found, err, literal[at:], want)
		}
		if HasPersist(literal) == strings.Contains(literal, "parse") {
			t.Errorf("%s: HasPersist is wrong", literal)
		}
	}
}

// TestUnsupportedOptions gives options that other libraries have, to fields and
// to indexes: the fault says that they are not supported.
func TestUnsupportedOptions(t *testing.T) {
	for _, literal := range []string{"`persist:\"%s\"`", "`persist:\"index,%s\"`"} {
		for _, option := range []string{"desc", "descending=true", "asc", "ascending", "sparse", "partial"} {
			parsed, _, _, err := Parse(strings.Replace(literal, "%s", option, 1))
			if err != nil {
				t.Fatal(err)
			}
			_, ofField := ParseFieldOptions(parsed)
			_, ofIndex := ParseIndexOptions(parsed)
			for _, found := range [][]Fault{ofField, ofIndex} {
				if len(found) != 1 || !strings.Contains(found[0].Message, "not supported") {
					t.Errorf("%s: faults %v, want one that says it is not supported", strings.Replace(literal, "%s", option, 1), found)
				}
			}
		}
	}
}
