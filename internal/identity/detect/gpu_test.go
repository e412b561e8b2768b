package detect

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"

	"github.com/nemo-lens/lens/internal/identity/nvidia"
)

// driverTree writes the driver's files for n GPUs, in the form that they have on
// a real host.
func driverTree(t testing.TB, root string, n int) {
	t.Helper()
	for i := range n {
		write(t, root, fmt.Sprintf("proc/driver/nvidia/gpus/0000:%02x:00.0/information", 16*i+7), fmt.Sprintf(
			"Model: \t\t NVIDIA A100-SXM4-40GB\nIRQ:   \t\t 37\nGPU UUID: \t GPU-%08x-0000-0000-0000-000000000000\n"+
				"Video BIOS: \t 92.00.45.00.03\nBus Type: \t PCIe\nDMA Size: \t 47 bits\nBus Location: \t 0000:%02x:00.0\nDevice Minor: \t %d\nGPU Excluded:\t No\n",
			uint32(0xa0000000+int64(i)), 16*i+7, n-i))
	}
	write(t, root, "sys/module/nvidia/version", "535.104.05\n")
}

func TestGPUCountMatchesReference(t *testing.T) {
	t.Parallel()
	for _, c := range load(t).GPUCount.Cases {
		want := c.Expect
		if c.Lens != nil {
			want = *c.Lens
		}
		got, _ := Detect(Options{Lookup: envMap{nvidia.VisibleVar: c.Text}.lookup, Root: t.TempDir(), Run: noFork(t)})
		if v, ok := value(got, "host.gpu.count"); !ok || v.AsInt64() != want {
			t.Errorf("%q: %d (%t), want %d", c.Text, v.AsInt64(), ok, want)
		}
	}
}

func TestFieldC9TheCountIsWhatCUDASees(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	driverTree(t, root, 4)
	for _, c := range []struct {
		text        string
		count, here int64 // with unknown devices, and with four
	}{
		{"", 0, 0},
		{"-1", 0, 0},
		{"0,-1,1", 1, 1},
		{" 0 , 1 ", 2, 2},
		{"NoDevFiles", 0, 0},
		{"0,9,1", 3, 1},
		{"GPU-a0000001,GPU-a0000003", 2, 2},
		{"GPU-a0000001,GPU-a", 2, 1},
		{"MIG-7f9d,MIG-GPU-8f3c/1/0", 1, 1},
		{"1,1", 0, 0},
	} {
		for dir, want := range map[string]int64{t.TempDir(): c.count, root: c.here} {
			got, warnings := Detect(Options{Lookup: envMap{nvidia.VisibleVar: c.text}.lookup, Root: dir, Run: noFork(t)})
			if v, ok := value(got, "host.gpu.count"); !ok || v.AsInt64() != want || len(warnings) > 0 {
				t.Errorf("%q counts as %d, want %d; warnings %q", c.text, v.AsInt64(), want, warnings)
			}
		}
	}
}

func TestGPUCountFromDriverFiles(t *testing.T) {
	t.Parallel()
	count := func(root string) (int64, bool) {
		got, _ := Detect(Options{Lookup: envMap{}.lookup, Root: root, Run: noFork(t)})
		v, ok := value(got, "host.gpu.count")
		return v.AsInt64(), ok
	}
	if n, ok := count(t.TempDir()); ok {
		t.Errorf("%d GPUs without a driver, want no attribute", n)
	}
	proc := t.TempDir()
	driverTree(t, proc, 4)
	write(t, proc, "proc/driver/nvidia/gpus/0000:ff:00.0/information", "Model: X\nGPU Excluded: Yes\n")
	if n, _ := count(proc); n != 4 {
		t.Errorf("%d GPUs from /proc, want 4", n)
	}
	sys := t.TempDir()
	for _, name := range []string{"0000:07:00.0", "0000:17:00.0", "bind", "module"} {
		write(t, sys, "sys/bus/pci/drivers/nvidia/"+name, "")
	}
	if n, _ := count(sys); n != 2 {
		t.Errorf("%d GPUs from /sys, want 2", n)
	}
}

func TestPhysicalIndexMatchesReference(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	driverTree(t, root, 8)
	for _, c := range load(t).GPUIndex.Cases {
		given := ""
		if c.LocalRank != nil {
			given = fmt.Sprint(c.LocalRank)
		}
		attrs, _ := Detect(Options{Lookup: c.Env.lookup, Root: root, GPUIdentity: true, LocalRank: given, Run: noFork(t)})
		got, ok := value(attrs, "nv.gpu.index")
		if ok != (c.Expect != nil) || ok && got.AsInt64() != int64(*c.Expect) {
			t.Errorf("local rank %q, %v: %d, %t", given, c.Env, got.AsInt64(), ok)
		}
	}
}

func TestGPUIdentity(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	driverTree(t, root, 4)
	bare := t.TempDir() // devices without names
	write(t, bare, "sys/bus/pci/drivers/nvidia/0000:07:00.0", "")
	asleep := t.TempDir()
	write(t, asleep, "proc/driver/nvidia/gpus/0000:07:00.0/information", "Model: X\nGPU UUID: GPU-????????-????-????-????-????????????\n")
	for _, c := range []struct {
		name, root string
		env        envMap
		given      string
		want       int // -1: nothing
	}{
		{"no launcher", root, nil, "", 0},
		{"local rank", root, envMap{"LOCAL_RANK": "2"}, "", 2},
		{"given", root, envMap{"LOCAL_RANK": "2"}, "1", 1},
		{"junk local rank", root, envMap{"LOCAL_RANK": "x"}, "", 0},
		{"Open MPI", root, envMap{"OMPI_COMM_WORLD_LOCAL_RANK": "3"}, "", 3},
		{"negative", root, nil, "-1", -1},
		{"beyond the host", root, envMap{"LOCAL_RANK": "4"}, "", -1},
		{"remapped", root, envMap{"LOCAL_RANK": "1", nvidia.VisibleVar: "3,2"}, "", 2},
		{"one device for each task", root, envMap{"LOCAL_RANK": "3", nvidia.VisibleVar: "3"}, "", 3},
		{"out of range", root, envMap{"LOCAL_RANK": "2", nvidia.VisibleVar: "3,2"}, "", -1},
		{"hidden behind -1", root, envMap{"LOCAL_RANK": "1", nvidia.VisibleVar: "3,-1,2"}, "1", 3},
		{"all hidden", root, envMap{nvidia.VisibleVar: ""}, "", -1},
		{"blank", root, envMap{nvidia.VisibleVar: " "}, "", -1},
		{"no devices", root, envMap{nvidia.VisibleVar: "NoDevFiles"}, "", -1},
		{"none", root, envMap{nvidia.VisibleVar: "-1"}, "", -1},
		{"UUID", root, envMap{nvidia.VisibleVar: "GPU-a0000002-0000-0000-0000-000000000000"}, "", 2},
		{"short UUID", root, envMap{nvidia.VisibleVar: "GPU-a0000003"}, "", 3},
		{"ambiguous UUID", root, envMap{nvidia.VisibleVar: "GPU-a"}, "", -1},
		{"unknown UUID", root, envMap{nvidia.VisibleVar: "GPU-b"}, "", -1},
		{"old MIG name", root, envMap{nvidia.VisibleVar: "MIG-GPU-a0000001-0000-0000-0000-000000000000/1/0"}, "", 1},
		{"new MIG name", root, envMap{nvidia.VisibleVar: "MIG-5c9c3f1a-0000-0000-0000-000000000000"}, "", -1},
		{"no driver", t.TempDir(), nil, "", -1},
		{"no names", bare, nil, "", -1},
		{"device never opened", asleep, nil, "", -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, _ := Detect(Options{Lookup: c.env.lookup, Root: c.root, GPUIdentity: true, LocalRank: c.given, Run: noFork(t)})
			want := attrMap{}
			if c.want >= 0 {
				want = attrMap{
					"nv.gpu.index": attribute.IntValue(c.want), "nv.gpu.model": attribute.StringValue("NVIDIA A100-SXM4-40GB"),
					"nv.gpu.uuid":           attribute.StringValue(fmt.Sprintf("GPU-%08x-0000-0000-0000-000000000000", uint32(0xa0000000+int64(c.want)))),
					"nv.gpu.pci_bus_id":     attribute.StringValue(fmt.Sprintf("00000000:%02X:00.0", 16*c.want+7)),
					"nv.gpu.driver_version": attribute.StringValue("535.104.05"),
				}
			}
			want.check(t, c.name, withPrefix(got, "nv.gpu."))
		})
	}
}

func TestDriverVersionTexts(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023\nGCC version: 12",
		"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  535.104.05  Release Build  (dvs)\n",
	} {
		root := t.TempDir()
		write(t, root, "proc/driver/nvidia/version", text)
		d := driver{root: root}
		if got := d.version(); got != "535.104.05" {
			t.Errorf("%q: %q", text, got)
		}
	}
}

const smiOutput = "0, NVIDIA H100 80GB HBM3, GPU-aa, 1650000001, 00000000:07:00.0, 9.0, 81559, 550.54.15\n" +
	"broken line\n" +
	"2, NVIDIA H100 80GB HBM3, GPU-bb, [N/A], 00000000:17:00.0, 9.0, [Not Supported], 550.54.15\n\n" +
	"WARNING: infoROM is corrupted at gpu 0000:17:00.0\n"

func TestNvidiaSMI(t *testing.T) {
	t.Parallel()
	calls := 0
	opts := Options{
		Lookup: envMap{}.lookup, Root: t.TempDir(), GPUIdentity: true, NvidiaSMI: true,
		Run: func(ctx context.Context, name string, args ...string) ([]byte, error) {
			if _, bounded := ctx.Deadline(); !bounded || name != "nvidia-smi" {
				t.Errorf("%s is run, bounded %t", name, bounded)
			}
			calls++
			return []byte(smiOutput), nil
		},
	}
	got, warnings := Detect(opts)
	attrMap{
		"nv.gpu.index": attribute.IntValue(0), "nv.gpu.model": attribute.StringValue("NVIDIA H100 80GB HBM3"), "nv.gpu.uuid": attribute.StringValue("GPU-aa"),
		"nv.gpu.serial": attribute.StringValue("1650000001"), "nv.gpu.pci_bus_id": attribute.StringValue("00000000:07:00.0"),
		"nv.gpu.compute_capability": attribute.StringValue("9.0"), "nv.gpu.memory_total": attribute.Int64Value(81559 << 20),
		"nv.gpu.driver_version": attribute.StringValue("550.54.15"), "host.gpu.count": attribute.IntValue(2),
	}.check(t, "nvidia-smi", withPrefix(got, "nv.gpu.", "host.gpu"))
	if calls != 1 || len(warnings) > 0 {
		t.Errorf("%d runs, want 1; warnings %q", calls, warnings)
	}
	opts.LocalRank = "1"
	got, _ = Detect(opts)
	for _, key := range []attribute.Key{"nv.gpu.serial", "nv.gpu.memory_total"} {
		if v, ok := value(got, key); ok {
			t.Errorf("%s=%s for a placeholder", key, v.String())
		}
	}
	if v, _ := value(got, "nv.gpu.uuid"); v.AsString() != "GPU-bb" {
		t.Errorf("UUID %q, want GPU-bb", v.AsString())
	}
	if v, _ := value(got, "nv.gpu.index"); v.AsInt64() != 2 {
		t.Errorf("index %d, want that of nvidia-smi", v.AsInt64())
	}
	opts.LocalRank = "2"
	if got, _ = Detect(opts); len(withPrefix(got, "nv.gpu.")) > 0 {
		t.Errorf("the lines that are no devices give %v", got)
	}
}

// A failing nvidia-smi costs a warning, and the files speak for it.
func TestNvidiaSMIFails(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	driverTree(t, root, 2)
	got, warnings := Detect(Options{
		Lookup: envMap{}.lookup, Root: root, GPUIdentity: true, NvidiaSMI: true,
		Run: func(context.Context, string, ...string) ([]byte, error) { return nil, errors.New("exit status 9") },
	})
	if v, _ := value(got, "nv.gpu.index"); len(withPrefix(got, "nv.gpu.")) != 5 || v.AsInt64() != 0 {
		t.Errorf("got %v", got)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0].String(), "exit status 9") {
		t.Errorf("warnings %q", warnings)
	}
}

func FuzzVisible(f *testing.F) {
	for _, c := range load(f).GPUCount.Cases {
		f.Add(c.Text, "0")
	}
	f.Add("0,-1,GPU-1,MIG-GPU-1/0/0", "2")
	root := f.TempDir()
	driverTree(f, root, 2)
	f.Fuzz(func(t *testing.T, text, local string) {
		got, _ := Detect(Options{Lookup: envMap{nvidia.VisibleVar: text}.lookup, Root: root, LocalRank: local, GPUIdentity: true, Run: noFork(t)})
		if n := len(withPrefix(got, "nv.gpu.")); n != 0 && n != 5 {
			t.Fatalf("%q, local rank %q: %v", text, local, got)
		}
	})
}

func FuzzParseSMI(f *testing.F) {
	f.Add(smiOutput)
	f.Fuzz(func(t *testing.T, out string) {
		list := parseSMI(out)
		if len(list) > strings.Count(out, "\n")+1 {
			t.Fatalf("%d devices in %q", len(list), out)
		}
		for _, g := range list {
			if g.memory < 0 || g.index < 0 {
				t.Fatalf("%q: %+v", out, g)
			}
			g.attributes()
		}
	})
}
