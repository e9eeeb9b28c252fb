// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/internal/idbuilder/settings"
)

// FuzzLoad loads any file, variable and flag: Load returns valid settings, or faults that
// name their places.
func FuzzLoad(f *testing.F) {
	f.Add("[server]\nport = 1\n", "SERVER__PORT", "2", "server.host", "h")
	f.Add("[storage.redis]\nurls = [\n\"redis://a\",\n \"redis://b\"]\n", "STORAGE__REDIS__MODE", "cluster", "storage.file.data_dir", "x")
	f.Add("a.b = {c = [1, {d = 2}]}\n[[x]]\n\"server.port\" = 1\n", "", "", "", "\x00")
	f.Add("[sequence]\nprefetch_threshold = nan\n", "AUTH__ADMIN_TOKEN", "0123456789abcdef", "auth.cache", "1e400")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, toml, variable, value, flag, text string) {
		toml = toml[:min(len(toml), 2000)] // TestFileFaults has the bound of its size
		file := filepath.Join(dir, "c.toml")
		if err := os.WriteFile(file, []byte(toml), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := settings.Load(settings.Sources{File: file, Environment: []string{"IDBUILDER__" + variable + "=" + value}, Flags: map[string]string{flag: text}})
		if err == nil {
			if err := s.Validate(); err != nil {
				t.Errorf("loaded, but %v", err)
			}
			return
		}
		var faults *settings.Error
		if !errors.As(err, &faults) || len(faults.Faults) == 0 {
			t.Fatalf("%v is not a list of faults", err)
		}
		for _, fault := range faults.Faults {
			if fault.Reason == "" || fault.Key == "" && fault.Origin == "" || strings.Count(fault.String(), "\n") > strings.Count(fault.Key, "\n")+strings.Count(fault.Origin, "\n") {
				t.Errorf("fault %+v", fault)
			}
		}
	})
}
