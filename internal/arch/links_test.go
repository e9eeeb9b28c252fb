// SPDX-License-Identifier: Apache-2.0

package arch

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	fenced  = regexp.MustCompile("(?ms)^```.*?^```")
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
)

// TestLinksOfDocuments checks that the files and headings which documents link
// to exist.
func TestLinksOfDocuments(t *testing.T) {
	links := 0
	for _, doc := range documents(t) {
		for _, found := range link.FindAllStringSubmatch(fenced.ReplaceAllString(read(t, doc), ""), -1) {
			if strings.Contains(found[1], "://") {
				continue
			}
			links++
			checkLink(t, doc, found[1])
		}
	}
	if links < 50 {
		t.Errorf("found %d links in the documents", links)
	}
}

func checkLink(t *testing.T, doc, target string) {
	t.Helper()
	file, anchor, _ := strings.Cut(target, "#")
	if file == "" {
		file = filepath.Base(doc)
	}
	file = filepath.Join(filepath.Dir(doc), file)
	if _, err := os.Stat(filepath.Join(root, file)); err != nil {
		t.Errorf("%s links to %s: %v", doc, target, err)
		return
	}
	if anchor != "" && !anchors(read(t, file))[anchor] {
		t.Errorf("%s links to %s: %s has no such heading", doc, target, file)
	}
}

// anchors returns the names by which a page's headings can be linked to.
func anchors(page string) map[string]bool {
	names := map[string]bool{}
	for _, found := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(page, ""), -1) {
		name := regexp.MustCompile(`[^\w\- ]`).ReplaceAllString(strings.ToLower(found[1]), "")
		names[strings.ReplaceAll(name, " ", "-")] = true
	}
	return names
}

// documents returns the paths of all pages.
func documents(t *testing.T) []string {
	t.Helper()
	var pages []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && entry.Name() == "node_modules" { // what site/ is built with
			return filepath.SkipDir
		}
		if err == nil && !entry.IsDir() && filepath.Ext(path) == ".md" {
			var page string
			page, err = filepath.Rel(root, path)
			pages = append(pages, page)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}
