// SPDX-License-Identifier: Apache-2.0

package snippets

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestNames checks that comments and pages name nothing that the code does not have.
func TestNames(t *testing.T) {
	names, err := LoadNames(root, strings.Fields(strings.Join(foreign, " "))...)
	if err != nil {
		t.Fatal(err)
	}
	faults := names.CheckComments()
	for _, page := range readPages(t) {
		faults = append(faults, names.CheckPage(page)...)
	}
	slices.Sort(faults)
	for _, fault := range faults {
		t.Error(fault)
	}
}

// foreign are names that comments and pages have from elsewhere.
var foreign = []string{
	"GitHub GitLab InnoDB JavaScript KiB MiB NaNs OpenTelemetry PgBouncer ZooKeeper gRPC macOS BurntSushi",
	"ChaCha8 DateTimeFormatter ListenAndServe MurmurHash3 SplitMix64 SyncWrites TrackId",
	"otel.GetMeterProvider otel.GetTracerProvider sdktrace.SpanExporter ContextTimeoutEnabled",
	// FoundationDB and its Record Layer
	"CommitTransactionRef DatabaseContext GetKeyReq GetRangeLimits GetRangeReq HighContentionAllocator NativeAPI",
	"ReadYourWrites ReadYourWritesTransaction StorageMetrics WriteMap addConflictRange coalesceOver coalesceUnder countUncached",
	"getBackoff getExactRange getKnownKeyRange getRangeValue getRangeValueBack keyAfter makeSelfConflicting resolveKeySelectorFromCache",
	"skipUncached triggerWatches updateConflictMap watchMap IndexingThrottle OnlineIndexer RangeSet RankedSet",
	// specifications, and suites of other projects
	"AcquireResponse ActivationExecutor ActivationStorage HttpLeaseProvider MemoryLeaseProvider NotReady PlacementLock RaftTimer",
	"GrainDirectoryTests IdentityStorageTests",
	// code of a reader
	"ByABC ByABThenC ByAThenBC ByNumberRow ByRate MarshalX MinAmountByStatus OrderByStatusCountryGroup OrderView OrderedByABC",
	"OrderedByCreatedAtWherePaid OrderedByCreatedAtWhereStatus SumAmount TestDeposits UnmarshalX ErrOther ErrX attemptsSeen closeTwice fsGroup numStatuses",
	"file.Truncate node.Campaign node.SendHeartbeats srv.ListenAndServeTLS errOutside headerSchema openMyStore openReference",
	"openWithDefaults prefixOfTheDirectory schemaOfTheHeader sendInvoices intM intN uintN uXXXX ewG18 OgB0XY30n3U PkiL_g23Gw aH",
	// files of systemd and Kubernetes, and placeholders of versions
	"TimeoutStopSec enableServiceLinks terminationGracePeriodSeconds vX.Y.Z vX.Y.Z.txt vX.Y",
	// subtests, and parts of names
	"FirstReadBehindClears PlainClock PlainShortened RenewCut RenewRefused StoreSerializable",
}

// TestUnknownNames checks that unknown names are found, and where.
func TestUnknownNames(t *testing.T) {
	const code = "package engine\n\n// Code is a code.\ntype Code int\n\n// Set and Unset.\nconst (\n\tCodeTooLarge Code = 1\n\ttooFew = 2\n)\n\n" +
		"// Options are options.\ntype Options struct{ CacheSize int; other }\n\ntype other struct{ Inner string }\n\nfunc (Code) Text() string { return \"deepBlue\" }\n"
	for _, c := range []struct{ name, comment, page, unknown string }{
		{"a constant", "CodeTooLarge, [CodeTooLarge], engine.CodeTooLarge, [Code.Text], [engine.Code.Text]", "`engine.CodeTooLarge`, `engine.Code`", ""},
		{"a constant that is not there", "It fails with CodeTooLong.", "", "CodeTooLong"},
		{"one of a page", "", "It fails with `CodeTooLong`.", "CodeTooLong"},
		{"… with its package", "", "`engine.Codes` and `engine.CodeTooLarge`", "engine.Codes"},
		{"prose of a page", "", "CodeTooLong", ""},
		{"code of a page", "", "```go\nCodeTooLong\n```", ""},
		{"a link", "See [Text].", "", "[Text]"},
		{"a link to a member", "See [Options.CacheSize], [Options.Inner], [*Options].", "", ""},
		{"a link to a member that is not there", "See [Code.Words].", "", "[Code.Words]"},
		{"an index", "It is all[Text], or Map[Text]int.", "", ""},
		{"a variable's method", "db.Text() and engine.Text()", "`db.Text()`", ""},
		{"a variable's method that is not there", "db.TextOf()", "", "db.TextOf"},
		{"an unexported constant", "tooFew; deepBlue is JSON", "`tooFew`", ""},
		{"an unexported one that is not there", "tooMany", "", "tooMany"},
		{"several names", "CodeTooL… and Code…", "`CodeTooL…`", ""},
		{"a name from elsewhere", "GitHub, http.Handler", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			file := "package a\n\nimport _ \"net/http\"\n\n// " + c.comment + "\nvar v int\n"
			if strings.Contains(c.comment, "[") {
				file = strings.Replace(code, "// Set and Unset.", "// "+c.comment, 1)
			}
			for path, text := range map[string]string{"engine.go": code, "a/a.go": file, "testdata/b.go": "package b\n\nconst CodeTooLong = 1\n"} {
				write(t, filepath.Join(dir, path), text)
			}
			names, err := LoadNames(dir, "GitHub")
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(append(names.CheckComments(), names.CheckPage(Parse("b.md", c.page))...), "\n")
			if c.unknown == "" && got != "" || !strings.HasSuffix(got, ": the code has no "+c.unknown) && c.unknown != "" {
				t.Errorf("faults: %q, want %q", got, c.unknown)
			}
		})
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Names are the names in the Go code of a repository, with which its comments and pages are
// compared. What its testdata has does not count.
type Names struct {
	root  string
	fset  *token.FileSet
	files map[string]*ast.File // by path, without generated ones

	declared map[string]map[string]bool // of a folder: T, and T.M of fields and methods
	folders  map[string][]string        // of the packages of a name
	outside  map[string]bool            // names of packages that are imported from elsewhere
	used     map[string]bool            // each identifier
	members  map[string]bool            // each field and method of any type
	quoted   map[string]bool            // each word of a string
}

// LoadNames reads the Go code of a repository. Names of other programs, in foreign, are known
// as well.
func LoadNames(root string, foreign ...string) (*Names, error) {
	n := &Names{
		root: root, fset: token.NewFileSet(), files: map[string]*ast.File{}, declared: map[string]map[string]bool{},
		folders: map[string][]string{}, outside: map[string]bool{}, used: map[string]bool{}, members: map[string]bool{}, quoted: map[string]bool{},
	}
	for _, name := range foreign {
		n.used[name] = true
	}
	return n, filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		switch name := entry.Name(); {
		case err != nil:
			return err
		case entry.IsDir() && (name == "testdata" || name == "node_modules" || strings.HasPrefix(name, ".git")):
			return fs.SkipDir
		case path.Ext(name) == ".go":
			return n.read(file)
		}
		return nil
	})
}

func (n *Names) read(file string) error {
	parsed, err := parser.ParseFile(n.fset, file, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	if file, err = filepath.Rel(n.root, file); err != nil {
		return err
	}
	if file = filepath.ToSlash(file); !ast.IsGenerated(parsed) {
		n.files[file] = parsed
	}
	n.declare(path.Dir(file), parsed)
	ast.Inspect(parsed, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.Ident:
			n.used[node.Name] = true
		case *ast.BasicLit:
			for _, word := range namePattern.FindAllString(node.Value, -1) {
				n.quoted[word] = true
			}
		case *ast.ImportSpec:
			if p, _ := strconv.Unquote(node.Path.Value); !strings.HasPrefix(p, module) {
				n.outside[path.Base(p)] = true
			}
		}
		return true
	})
	return nil
}

// declare notes what a file declares.
func (n *Names) declare(folder string, file *ast.File) {
	if n.declared[folder] == nil {
		name := strings.TrimSuffix(file.Name.Name, "_test")
		n.declared[folder], n.folders[name] = map[string]bool{}, append(n.folders[name], folder)
	}
	here := n.declared[folder]
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Recv == nil {
				here[decl.Name.Name] = true
			} else {
				n.addMembers(here, receiver(decl.Recv.List[0].Type), decl.Name)
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				n.declareSpec(here, spec)
			}
		}
	}
}

func (n *Names) declareSpec(here map[string]bool, spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			here[name.Name] = true
		}
	case *ast.TypeSpec:
		here[spec.Name.Name] = true
		var fields []*ast.Field
		switch t := spec.Type.(type) {
		case *ast.StructType:
			fields = t.Fields.List
		case *ast.InterfaceType:
			fields = t.Methods.List
		default:
			here[spec.Name.Name+anyMember] = true
		}
		for _, f := range fields {
			n.addMembers(here, spec.Name.Name, f.Names...)
			if len(f.Names) == 0 { // embedded
				here[spec.Name.Name+anyMember] = true
			}
		}
	}
}

// anyMember follows the name of a type that has members of another one.
const anyMember = ".*"

func (n *Names) addMembers(here map[string]bool, of string, names ...*ast.Ident) {
	for _, name := range names {
		here[of+"."+name.Name], n.members[name.Name] = true, true
	}
}

// receiver returns the name of a receiver's type.
func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.IndexListExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}

// declares reports whether a folder declares T, or a member T.M.
func (n *Names) declares(folder, name string) bool {
	of, member, _ := strings.Cut(name, ".")
	here := n.declared[folder]
	return here[name] || here[of+anyMember] && n.used[member]
}

var (
	namePattern = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*…?`)
	linkPattern = regexp.MustCompile(`(?:^|[^\w\]])\[\*?([A-Za-z_]\w*(?:\.[A-Za-z_]\w*){0,2})\](?:$|[^\w\[(])`)
	spanPattern = regexp.MustCompile("`[^`]+`")

	// Of several words without a space between: what can only be a name.
	exportedName   = regexp.MustCompile(`^[A-Z][a-z]+[0-9]*[A-Z]\w*$`)
	unexportedName = regexp.MustCompile(`^[a-z]+[A-Z]\w*$`)
)

// CheckComments returns a fault for each name in a comment that the code does not have, and for
// each link that leads nowhere.
func (n *Names) CheckComments() (faults []string) {
	for file, parsed := range n.files {
		for _, group := range parsed.Comments {
			for _, comment := range group.List {
				for i, line := range strings.Split(comment.Text, "\n") {
					for _, name := range append(n.unknownNames(line), n.brokenLinks(file, line)...) {
						faults = append(faults, fmt.Sprintf("%s:%d: the code has no %s", file, n.fset.Position(comment.Pos()).Line+i, name))
					}
				}
			}
		}
	}
	return faults
}

// CheckPage returns a fault for each name between backquotes that the code does not have.
func (n *Names) CheckPage(p *Page) (faults []string) {
	fenced := false
	for i, line := range strings.Split(p.Text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		}
		if fenced {
			continue
		}
		for _, span := range spanPattern.FindAllString(line, -1) {
			for _, name := range n.unknownNames(span) {
				faults = append(faults, fmt.Sprintf("%s:%d: the code has no %s", p.Path, i+1, name))
			}
		}
	}
	return faults
}

// unknownNames returns the names in a text that the code does not have.
func (n *Names) unknownNames(text string) (unknown []string) {
	for _, name := range namePattern.FindAllString(text, -1) {
		if !n.knows(name) {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

// knows reports whether the code may have a name. In x.Name, x is a package or a variable.
func (n *Names) knows(name string) bool {
	parts := strings.Split(strings.TrimSuffix(name, "…"), ".")
	folders, ours := n.folders[parts[0]]
	switch {
	case n.used[name] || strings.HasSuffix(name, "…"):
		return true
	case len(parts) > 1 && n.outside[parts[0]]:
		return true
	case len(parts) > 1 && ours && ast.IsExported(parts[1]) && !n.members[parts[1]] && !n.declareOne(folders, parts[1]):
		return false
	}
	for _, part := range parts {
		if exportedName.MatchString(part) && !n.used[part] || unexportedName.MatchString(part) && !n.used[part] && !n.quoted[part] {
			return false
		}
	}
	return true
}

func (n *Names) declareOne(folders []string, name string) bool {
	for _, folder := range folders {
		if n.declares(folder, name) {
			return true
		}
	}
	return false
}

// brokenLinks returns the links to a T, T.M, p.T or p.T.M that lead nowhere.
func (n *Names) brokenLinks(file, line string) (broken []string) {
	if strings.HasPrefix(line, "//\t") || strings.HasSuffix(file, "_test.go") {
		return nil // code; not shown
	}
	for _, link := range linkPattern.FindAllStringSubmatch(line, -1) {
		first, rest, dotted := strings.Cut(link[1], ".")
		folders, ours := n.folders[first]
		switch {
		case n.declares(path.Dir(file), link[1]), !dotted && !ast.IsExported(first):
		case dotted && (!ours && !ast.IsExported(first) || n.outside[first] || n.declareOne(folders, rest)):
		default:
			broken = append(broken, "["+link[1]+"]")
		}
	}
	return broken
}
