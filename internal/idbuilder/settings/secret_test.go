// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/internal/idbuilder/settings"
)

// TestSecretsAreHidden prints settings with secrets in every way.
func TestSecretsAreHidden(t *testing.T) {
	s := settings.Default()
	s.Auth.AdminToken = "tops3cret-tops3cret"
	s.Storage.MySQL.URL = "mysql://u:tops3cret@h/db?token=tops3cret"
	s.Storage.Postgres.URL = "host=h password=tops3cret"
	s.Storage.Redis.URL = []settings.URL{"rediss://u:tops3cret@h", "redis://:tops3cret@h", "://tops3cret"}
	var text strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
		for _, v := range []any{s, *s, s.Auth.AdminToken, s.Storage.MySQL.URL, s.Storage.Redis.URL} {
			fmt.Fprintf(&text, verb+"\n", v)
		}
	}
	encoded, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	text.Write(encoded)
	slog.New(slog.NewTextHandler(&text, nil)).Info("x", "s", s, "token", s.Auth.AdminToken, "url", s.Storage.MySQL.URL)
	for _, secret := range []string{"s3cret", fmt.Sprintf("%x", "s3cret"), fmt.Sprintf("%X", "s3cret"), "115 51 99"} {
		if i := strings.Index(text.String(), secret); i >= 0 {
			t.Errorf("a secret is shown: …%s", text.String()[max(0, i-80):i+10])
		}
	}
	if u := s.Storage.MySQL.URL; u.String() != "mysql://u:xxxxx@h/db" || u.Reveal() != "mysql://u:tops3cret@h/db?token=tops3cret" {
		t.Errorf("%s", u)
	}
}

// TestFaultsHideSecrets: the faults of secrets do not show them.
func TestFaultsHideSecrets(t *testing.T) {
	for _, from := range []settings.Sources{
		{File: write(t, "[auth]\nadmin_token = [\"s3cret\"]\n")},
		{File: write(t, "[auth]\nadmin_token = \"s3cret\"\n")},
		{File: write(t, "[auth.admin_token]\nx = \"s3cret\"\n")},
		{File: write(t, "[storage.redis]\nurl = \"redis://:s3cret/x@h\"\n")},
		{File: write(t, "[storage.redis]\nurl = \"redis://:s3cret@h\"\nurls = [\"redis://:s3cret2@h\"]\n")},
		{Environment: []string{"IDBUILDER__AUTH__ADMIN_TOKEN=s3cret"}},
		{Environment: []string{"IDBUILDER__STORAGE__MYSQL__URL=u:s3cret@tcp(h)/db"}},
		{Flags: map[string]string{"auth.admin_token": "s3cret-s3cret-s3cret"}},
		{Flags: map[string]string{"storage.redis.url": "redis://:s3cret@h"}},
		{Flags: map[string]string{"storage.postgresql.url": "postgres://h/db?password=s3cret"}},
	} {
		_, err := settings.Load(from)
		if err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%+v: %v", from, err)
		}
	}
	if _, err := settings.Load(settings.Sources{Flags: map[string]string{"storage.redis.url": "redis://h:6379/0"}}); err != nil {
		t.Errorf("a URL without a password: %v", err)
	}
}

// TestEveryFieldHasAKey compares the keys with the fields of Settings.
func TestEveryFieldHasAKey(t *testing.T) {
	s := settings.Default()
	set := map[any]int{}
	for _, p := range settings.Fields(s) {
		set[p]++
	}
	var walk func(v reflect.Value, name string)
	walk = func(v reflect.Value, name string) {
		if v.Kind() == reflect.Struct && v.Type() != reflect.TypeFor[settings.Threshold]() {
			for i := range v.NumField() {
				if f := v.Type().Field(i); f.IsExported() {
					walk(v.Field(i), name+"."+f.Name)
				}
			}
			return
		}
		if n := set[v.Addr().Interface()]; n != 1 {
			t.Errorf("%s is set by %d keys", name, n)
		}
	}
	walk(reflect.ValueOf(s).Elem(), "Settings")
	if err := s.Validate(); err != nil {
		t.Errorf("the defaults: %v", err)
	}
}
