// SPDX-License-Identifier: Apache-2.0

package emitter

import (
	"testing"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
)

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

// TestProtoPackage names the protobuf packages of Go packages.
func TestProtoPackage(t *testing.T) {
	for _, test := range []struct{ name, path, dir, want string }{
		{"shop", "example.com/store", "/src/store", "shop"},
		{"größe", "example.com/size", "/src/size", "gr_e"},
		{"main", "example.com/blog", "/src/repo", "blog"},
		{"main", "example.com/blog/v2", "/src/repo", "blog"},
		{"main", "example.com/my-blog.go", "/src/repo", "my_blog_go"},
		{"main", "example.com/2048", "/src/game", "game"},
		{"main", "example.com/main", "/src/game", "game"},
		{"main", "command-line-arguments", "/src/game", "game"},
		{"main", "example.com/main", "/src/42", "records"},
	} {
		if got := protoPackage(&model.Package{Name: test.name, Path: test.path, Dir: test.dir}); got != test.want {
			t.Errorf("package %s %q in %s: protobuf package %q, want %q", test.name, test.path, test.dir, got, test.want)
		}
	}
}
