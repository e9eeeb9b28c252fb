// SPDX-License-Identifier: Apache-2.0

// Package deploy checks the files of its folder against the code: metrics and labels that alerts and the dashboard use, and settings.
package deploy

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/internal/idbuilder/settings"
)

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.FromSlash(name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// expressions returns what alerts and the dashboard ask Prometheus.
func expressions(t *testing.T) (all []string) {
	t.Helper()
	for _, found := range regexp.MustCompile(`(?m)^ +expr: (.*?)( #.*)?$`).FindAllStringSubmatch(read(t, "prometheus/alerts.yaml"), -1) {
		all = append(all, found[1])
	}
	var board struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	if err := json.Unmarshal([]byte(read(t, "grafana/kazahana.json")), &board); err != nil {
		t.Fatal(err)
	}
	for _, panel := range board.Panels {
		for _, target := range panel.Targets {
			all = append(all, target.Expr)
		}
	}
	if len(all) < 60 {
		t.Fatalf("there are %d expressions", len(all))
	}
	return all
}

var (
	grouping   = regexp.MustCompile(`(?:by|on|ignoring|without) *\(([^)]*)\)`)
	matchers   = regexp.MustCompile(`\{([^}]*)\}`)
	matcher    = regexp.MustCompile(`(\w+) *[=!]~?`)
	metricName = regexp.MustCompile(`\b(?:idbuilder|kazahana|db)_[a-z_]+`)
	quoted     = regexp.MustCompile(`"[^"]*"`)
)

// TestMetrics checks that the code exports each metric that an expression names, and that something has each label.
func TestMetrics(t *testing.T) {
	exported, labels := exportedMetrics(t), exportedLabels(t)
	used := map[string]bool{}
	for _, expression := range expressions(t) {
		for _, found := range grouping.FindAllStringSubmatch(expression, -1) {
			for label := range strings.SplitSeq(found[1], ",") {
				checkLabel(t, labels, strings.TrimSpace(label), expression)
			}
		}
		for _, found := range matchers.FindAllStringSubmatch(expression, -1) {
			for _, label := range matcher.FindAllStringSubmatch(quoted.ReplaceAllString(found[1], ""), -1) {
				checkLabel(t, labels, label[1], expression)
			}
		}
		names := metricName.FindAllString(matchers.ReplaceAllString(grouping.ReplaceAllString(expression, ""), ""), -1)
		if len(names) == 0 {
			t.Errorf("%s names no metric", expression)
		}
		for _, name := range names {
			used[name] = true
			if !exported[name] {
				t.Errorf("%s asks for %s, which nothing exports; there are %q", expression, name, slices.Sorted(maps.Keys(exported)))
			}
		}
	}
	for _, prefix := range []string{"idbuilder_", "kazahana_lease_", "kazahana_id_", "kazahana_election_", "kazahana_placement_", "kazahana_engine_", "kazahana_operation_", "db_client_"} {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(used)), func(name string) bool { return strings.HasPrefix(name, prefix) }) {
			t.Errorf("nothing watches a metric %s…", prefix)
		}
	}
}

func checkLabel(t *testing.T, labels map[string]bool, label, expression string) {
	t.Helper()
	if !labels[label] {
		t.Errorf("%s has the label %s, which nothing exports; there are %q", expression, label, slices.Sorted(maps.Keys(labels)))
	}
}

// TestAlertsHaveCases checks that each alert has a case in which it fires and one in which it does not, for promtool.
func TestAlertsHaveCases(t *testing.T) {
	cases := read(t, "prometheus/alerts_test.yaml")
	alerts := regexp.MustCompile(`(?m)^ +- alert: (\w+)$`).FindAllStringSubmatch(read(t, "prometheus/alerts.yaml"), -1)
	if len(alerts) < 20 {
		t.Fatalf("there are %d alerts", len(alerts))
	}
	for _, alert := range alerts {
		for _, name := range []string{alert[1] + " fires", alert[1] + " does not fire"} {
			if !strings.Contains(cases, "- name: "+name+"\n") {
				t.Errorf("alerts_test.yaml has no case %q", name)
			}
		}
	}
}

// TestManifestSettings loads the settings of the manifest as the program does, which refuses a key that it does not know.
func TestManifestSettings(t *testing.T) {
	manifest := read(t, "kubernetes/idbuilder.yaml")
	_, text, ok := strings.Cut(manifest, "idbuilder.toml: |\n")
	text, _, _ = strings.Cut(text, "\n---\n")
	file := filepath.Join(t.TempDir(), "idbuilder.toml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil || !ok {
		t.Fatal(err)
	}
	values := map[string]string{
		"IDBUILDER__STORAGE__POSTGRES__URL": "postgresql://idbuilder:secret@db.example.com/idbuilder", "IDBUILDER__AUTH__ADMIN_TOKEN": strings.Repeat("0123456789abcdef", 4),
	}
	var environment []string
	for _, found := range regexp.MustCompile(`- name: (IDBUILDER__\w+)`).FindAllStringSubmatch(manifest, -1) {
		environment = append(environment, found[1]+"="+values[found[1]])
	}
	s, err := settings.Load(settings.Sources{File: file, Environment: environment})
	if err != nil {
		t.Fatal(err)
	}
	if s.Storage.Backend != "postgresql" || s.Server.Host != "0.0.0.0" || s.Auth.AdminToken.Reveal() != values["IDBUILDER__AUTH__ADMIN_TOKEN"] {
		t.Errorf("the settings are %+v", s)
	}
}
