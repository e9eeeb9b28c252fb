// SPDX-License-Identifier: Apache-2.0

package worker_test

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

//go:embed openapi.json
var openapiText string

// operation is an operation of the document.
type operation struct {
	Parameters []struct {
		Ref string `json:"$ref"`
	}
	RequestBody struct {
		Content map[string]struct {
			Schema struct {
				Ref string `json:"$ref"`
			}
		}
	}
	Responses map[string]response
	Security  []map[string][]string
}

type response struct {
	Ref     string `json:"$ref"`
	Content map[string]json.RawMessage
}

type description struct {
	OpenAPI    string
	Paths      map[string]map[string]operation
	Components struct {
		Parameters map[string]struct {
			Name, In string
			Schema   any
		}
		Responses map[string]response
		Schemas   map[string]struct{ Properties map[string]any }
	}
}

// described is the document; schemas has its schemas, compiled on first use. They allow only the
// members that the document names.
var described = sync.OnceValue(func() (d description) {
	if err := json.Unmarshal([]byte(openapiText), &d); err != nil {
		panic(err)
	}
	return d
})

var schemas struct {
	sync.Mutex
	compiler *jsonschema.Compiler
	compiled map[string]*jsonschema.Schema
}

func schema(t testing.TB, pointer string) *jsonschema.Schema {
	t.Helper()
	schemas.Lock()
	defer schemas.Unlock()
	if schemas.compiler == nil {
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(openapiText))
		if err != nil {
			t.Fatal(err)
		}
		closeObjects(doc)
		schemas.compiler, schemas.compiled = jsonschema.NewCompiler(), map[string]*jsonschema.Schema{}
		schemas.compiler.AssertFormat()
		if err := schemas.compiler.AddResource("openapi.json", doc); err != nil {
			t.Fatal(err)
		}
	}
	s := schemas.compiled[pointer]
	if s == nil {
		var err error
		if s, err = schemas.compiler.Compile("openapi.json#" + pointer); err != nil {
			t.Fatal(err)
		}
		schemas.compiled[pointer] = s
	}
	return s
}

// closeObjects refuses members that a schema does not name.
func closeObjects(v any) {
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v["properties"].(map[string]any); ok && v["type"] == "object" {
			v["additionalProperties"] = false
		}
		for _, member := range v {
			closeObjects(member)
		}
	case []any:
		for _, item := range v {
			closeObjects(item)
		}
	}
}

// pointer returns where the schema of an answer is in the document.
func pointer(method, path string, status int, contentType string) (string, error) {
	escape := func(s string) string {
		return strings.ReplaceAll(strings.ReplaceAll(s, "~", "~0"), "/", "~1")
	}
	r, ok := described().Paths[path][strings.ToLower(method)].Responses[fmt.Sprint(status)]
	at := "/paths/" + escape(path) + "/" + strings.ToLower(method) + "/responses/" + fmt.Sprint(status)
	if r.Ref != "" {
		at = strings.TrimPrefix(r.Ref, "#")
		r, ok = described().Components.Responses[r.Ref[strings.LastIndex(r.Ref, "/")+1:]]
	}
	if !ok {
		return "", fmt.Errorf("the description has no answer %d", status)
	}
	if _, ok := r.Content[contentType]; !ok {
		return "", fmt.Errorf("the description's answer %d has no content of type %s", status, contentType)
	}
	return at + "/content/" + escape(contentType) + "/schema", nil
}

// checkConforms checks an answer of the worker against the description. All tests of answers call it.
func checkConforms(t testing.TB, method, path string, status int, header http.Header, body string) {
	t.Helper()
	if rest, ok := strings.CutPrefix(path, "/api/"); ok {
		path = "/v1/" + rest
	}
	if method == http.MethodHead && status < 400 {
		method = http.MethodGet
	}
	if _, ok := described().Paths[path][strings.ToLower(method)]; !ok {
		if status < 400 && !strings.HasPrefix(path, "/admin") {
			t.Errorf("%s %s: %d, and it is not described", method, path, status)
		}
		return
	}
	contentType, _, _ := strings.Cut(header.Get("Content-Type"), ";")
	at, err := pointer(method, path, status, contentType)
	if err != nil {
		t.Errorf("%s %s: %v: %s", method, path, err, body)
		return
	}
	if header.Get("Content-Encoding") != "" || contentType != "application/json" {
		return
	}
	answer, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
	if err == nil {
		err = schema(t, at).Validate(answer)
	}
	if err != nil {
		t.Errorf("%s %s: %v\n%s", method, path, err, body)
	}
}

// TestOpenAPI: the worker serves the description, which names each endpoint and no other, with the
// parameters that the handlers read. Each endpoint answers.
func TestOpenAPI(t *testing.T) { synctest.Test(t, testOpenAPI) }

func testOpenAPI(t *testing.T) {
	s := start(t, options())
	if a := s.send("GET", "/openapi.json", "", ""); a.status != http.StatusOK || a.text != openapiText {
		t.Errorf("GET /openapi.json: %d", a.status)
	}
	var paths []string
	for path, item := range described().Paths {
		for method, o := range item {
			paths = append(paths, strings.ToUpper(method)+" "+path)
			s.checkOperation(strings.ToUpper(method), path, o)
		}
	}
	routes := s.Routes()
	slices.Sort(routes)
	if slices.Sort(paths); !slices.Equal(paths, routes) {
		t.Errorf("described are %v\nserved are %v", paths, routes)
	}
	if !strings.HasPrefix(described().OpenAPI, "3.1.") {
		t.Errorf("openapi is %s", described().OpenAPI)
	}
}

// checkOperation checks the tokens and the parameters of an endpoint.
func (s service) checkOperation(method, path string, o operation) {
	s.Helper()
	if a := s.send(method, path, "", ""); (a.status == http.StatusUnauthorized) != (len(o.Security) > 0) && !strings.HasPrefix(path, "/v1/id/") || a.status == http.StatusMethodNotAllowed {
		s.Errorf("%s %s: without a token it answers %d, and the description has %v", method, path, a.status, o.Security)
	}
	var want []string
	for _, p := range o.Parameters {
		if p := described().Components.Parameters[p.Ref[strings.LastIndex(p.Ref, "/")+1:]]; p.In == "query" {
			want = append(want, p.Name)
		}
	}
	body := ""
	if c, ok := o.RequestBody.Content["application/json"]; ok {
		body = `{"zzz": 1}`
		for name := range described().Components.Schemas[c.Schema.Ref[strings.LastIndex(c.Schema.Ref, "/")+1:]].Properties {
			want = append(want, name)
		}
	}
	if len(want) == 0 {
		return
	}
	target := path
	if body == "" {
		target += "?zzz=1"
	}
	a := s.send(method, target, adminToken, body)
	m := regexp.MustCompile(`allowed are ([a-z_, ]+)`).FindStringSubmatch(a.message)
	if m == nil {
		s.Errorf("%s %s: an unknown parameter is answered with %s", method, target, a.text)
		return
	}
	got := strings.Split(m[1], ", ")
	slices.Sort(got)
	if slices.Sort(want); !slices.Equal(got, want) {
		s.Errorf("%s %s: the description has the parameters %v, the handler reads %v", method, path, want, got)
	}
}

// TestOpenAPISchemas: each schema of the description can be compiled, its references have
// targets, and the codes are those of the specification.
func TestOpenAPISchemas(t *testing.T) {
	for name := range described().Components.Schemas {
		schema(t, "/components/schemas/"+name)
	}
	for name := range described().Components.Parameters {
		schema(t, "/components/parameters/"+name+"/schema")
	}
	codes := map[string]bool{}
	for name, r := range described().Components.Responses {
		var content struct {
			Schema struct {
				Properties struct{ Code struct{ Enum []json.Number } }
			}
		}
		if err := json.Unmarshal(r.Content["application/json"], &content); err != nil {
			t.Fatal(name, err)
		}
		for _, code := range content.Schema.Properties.Code.Enum {
			codes[code.String()] = true
		}
	}
	for _, code := range []string{"1001", "1002", "1003", "1004", "2001", "2002", "3001", "4001", "4002", "4003"} {
		if !codes[code] {
			t.Errorf("no answer has the code %s", code)
		}
	}
	var doc map[string]any
	if err := json.Unmarshal([]byte(openapiText), &doc); err != nil {
		t.Fatal(err)
	}
	for _, ref := range regexp.MustCompile(`"\$ref": "#/([^"]*)"`).FindAllStringSubmatch(openapiText, -1) {
		at := doc
		for name := range strings.SplitSeq(ref[1], "/") {
			at, _ = at[name].(map[string]any)
		}
		if at == nil {
			t.Errorf("%s has no target", ref[0])
		}
	}
}
