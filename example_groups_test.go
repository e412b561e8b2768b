package lens_test

import (
	"errors"
	"fmt"
	"strings"

	"github.com/nemo-lens/lens"
)

// A library of its own declares its groups and presets once, as a package
// variable.
func ExampleGroupClass() {
	retrieval := lens.MustGroupClass("retrieval",
		[]lens.SpanGroup{"query", "embed", "search", "rerank"},
		map[string][]lens.SpanGroup{"default": {"query"}, "latency": {"query", "search", "rerank"}})

	fmt.Println(retrieval.Namespace(), "has", retrieval.Groups())
	fmt.Println("presets:", len(retrieval.Presets()), "with all =", retrieval.Presets()["all"])

	// A spec is what operators write: presets and groups, in any case and order.
	set, err := retrieval.Resolve("Default, embed")
	fmt.Println(set, err)
	// Output:
	// retrieval has embed,query,rerank,search
	// presets: 3 with all = embed,query,rerank,search
	// embed,query <nil>
}

// The vocabulary of Megatron: the base groups and six of its own, with its own
// "default" and "per_step".
func ExampleGroupClass_Extend() {
	megatron, err := lens.BaseGroups.Extend("megatron",
		[]lens.SpanGroup{"microbatch", "communication", "activation_offload", "data_loading", "inference", "layer"},
		map[string][]lens.SpanGroup{
			"default": {lens.Job, lens.Checkpoint, lens.Evaluate, "inference"},
			"per_step": {lens.Job, lens.Checkpoint, lens.Evaluate, lens.ModelInit, lens.LoadCheckpoint, lens.Step,
				lens.ForwardBackward, lens.Optimizer, "communication", "data_loading", "inference"},
		})
	if err != nil {
		fmt.Println(err)
		return
	}
	set, _ := megatron.Resolve("default,layer")
	fmt.Println(set)
	set, _ = megatron.Resolve("per_step")
	fmt.Println(set.Has("communication"), set.Has("layer"))
	// Output:
	// checkpoint,evaluate,inference,job,layer
	// true false
}

// Names that come from a configuration are checked; every fault is reported.
func ExampleNewGroupClass() {
	_, err := lens.NewGroupClass("rl", []lens.SpanGroup{"rollout", "Verify"},
		map[string][]lens.SpanGroup{"default": {"rolout"}})
	fmt.Println(err)
	// Output:
	// lens: group class "rl": group "Verify" is not lower snake_case (a to z, 0 to 9, _, beginning with a letter)
	// lens: group class "rl": preset "default" names group "rolout", which the class does not have (did you mean "rollout"?)
}

func ExampleBaseGroups() {
	for _, spec := range []string{"default", "default,step", "all"} {
		set, _ := lens.BaseGroups.Resolve(spec)
		fmt.Printf("%-12s %s\n", spec, set)
	}
	// Output:
	// default      checkpoint,evaluate,job
	// default,step checkpoint,evaluate,job,step
	// all          checkpoint,evaluate,forward_backward,job,load_checkpoint,model_init,optimizer,step
}

func ExampleGroupSet() {
	set := lens.NewGroupSet(lens.Step, lens.Job, lens.Step)
	fmt.Println(set.Len(), set.Groups(), set.Has(lens.Job), set.Has(lens.Optimizer))

	var none lens.GroupSet // the zero value is the empty set
	fmt.Printf("%q %v\n", none.String(), none.Has(lens.Job))
	// Output:
	// 2 [job step] true false
	// "" false
}

// An error says what was misspelt and what would have been right; a program
// that would rather go on uses the set beside it.
func ExampleUnknownGroupError() {
	set, err := lens.BaseGroups.Resolve("default,optimiser")

	var unknown *lens.UnknownGroupError
	if errors.As(err, &unknown) {
		fmt.Println("not known:", strings.Join(unknown.Unknown, ", "))
		text, _, _ := strings.Cut(unknown.Error(), " in the spec")
		fmt.Println(text)
	}
	fmt.Println("goes on with:", set)
	// Output:
	// not known: optimiser
	// lens: unknown span group "optimiser" (did you mean "optimizer"?)
	// goes on with: checkpoint,evaluate,job
}

// Each library registers its own vocabulary, and one spec selects among all.
func ExampleGroupRegistry() {
	var registry lens.GroupRegistry
	trainer := lens.MustGroupClass("trainer", []lens.SpanGroup{"step"}, map[string][]lens.SpanGroup{"default": {"step"}})
	loader := lens.MustGroupClass("loader", []lens.SpanGroup{"read", "decode"}, map[string][]lens.SpanGroup{"default": {"read"}})
	for _, class := range []*lens.GroupClass{trainer, loader} {
		if err := registry.Register(class); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(registry.Namespaces(), "have", registry.Groups())

	// A preset that several libraries have is the union of theirs.
	set, _ := registry.Resolve("default")
	fmt.Println("default =", set)

	// A newer version of a library takes the place of the older one.
	registry.Replace(lens.MustGroupClass("loader", []lens.SpanGroup{"read", "shuffle"}, nil))
	fmt.Println("all =", registry.Presets()["all"])

	fmt.Println(registry.Unregister("loader"), registry.Namespaces())
	fmt.Println(registry.Unregister("trainers"))
	// Output:
	// [loader trainer] have decode,read,step
	// default = read,step
	// all = read,shuffle,step
	// <nil> [trainer]
	// lens: namespace "trainers" is not registered (did you mean "trainer"?); registered are [trainer]
}

// A library registers its groups when its package is initialised, and the
// program gives the registry to FromEnv.
func ExampleDefaultRegistry() {
	reward := lens.MustGroupClass("reward_model", []lens.SpanGroup{"score"}, nil)
	if err := lens.DefaultRegistry.Register(reward); err != nil { // in func init
		fmt.Println(err)
	}
	defer lens.DefaultRegistry.Unregister("reward_model")

	cfg, err := lens.FromEnv("", "", lens.DefaultRegistry) // in func main
	if err != nil {
		fmt.Println(err)
	}
	cfg.SpanGroups = "score"
	fmt.Println(cfg.ResolvedSpanGroups())
	// Output: score <nil>
}

// Anything that turns a spec into a set can be the vocabulary: here an older
// spelling is accepted.
func ExampleGroupResolver() {
	cfg := lens.DefaultConfig()
	cfg.Groups, cfg.SpanGroups = renamed{"iteration", "step"}, "iteration"
	fmt.Println(cfg.ResolvedSpanGroups())
	// Output: step <nil>
}

var _ lens.GroupResolver = renamed{}

type renamed struct{ from, to string }

func (r renamed) Resolve(spec string) (lens.GroupSet, error) {
	return lens.BaseGroups.Resolve(strings.ReplaceAll(spec, r.from, r.to))
}
