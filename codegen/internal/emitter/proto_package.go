// SPDX-License-Identifier: Apache-2.0

package emitter

import (
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
)

// notProto are the characters that a protobuf package does not have in names,
// and majorVersion is a last path element that does not name a package.
var (
	notProto     = regexp.MustCompile(`[^A-Za-z0-9_]+`)
	majorVersion = regexp.MustCompile(`/v[0-9]+$`)
)

// protoPackage names the protobuf package: like the Go package, but a command,
// which has the name main as all others, like the last element of its path or
// like its folder.
func protoPackage(p *model.Package) string {
	names := []string{p.Name}
	if p.Name == "main" {
		names = []string{path.Base(majorVersion.ReplaceAllString(p.Path, "")), filepath.Base(p.Dir)}
		if p.Path == "command-line-arguments" {
			names = names[1:]
		}
	}
	for _, name := range append(names, p.Name) {
		name = notProto.ReplaceAllString(name, "_")
		if name = strings.Trim(strings.TrimLeft(name, "0123456789_"), "_"); name != "" && name != "main" {
			return name
		}
	}
	return "records"
}
