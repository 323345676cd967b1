// Command baseline is a cloud controller manager that is built as each vendor's own is: the controllers of
// k8s.io/cloud-provider, and a provider that speaks to the cloud with the official client, one object at a time.
// The benchmark runs it beside aerostat, against the same control plane and the same simulated cloud.
package main

import (
	"os"

	"k8s.io/apimachinery/pkg/util/wait"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	"k8s.io/cloud-provider/app/config"
	"k8s.io/cloud-provider/names"
	"k8s.io/cloud-provider/options"
	"k8s.io/component-base/cli"
	cliflag "k8s.io/component-base/cli/flag"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	"k8s.io/klog/v2"

	"aerostat.dev/tests/baseline/account"
	"aerostat.dev/tests/baseline/digitalocean"
	"aerostat.dev/tests/baseline/hetzner"
)

// clouds are what --cloud-provider may say, by the vendors' own names.
var clouds = map[string]func(account.Account) (cloudprovider.Interface, error){
	digitalocean.Name: digitalocean.New,
	hetzner.Name:      hetzner.New,
}

func main() {
	manager, err := options.NewCloudControllerManagerOptions()
	if err != nil {
		klog.Fatalf("The options of the library cannot be made: %v", err)
	}
	manager.KubeCloudShared.CloudProvider.Name = digitalocean.Name

	var account account.Account
	var flags cliflag.NamedFlagSets
	account.AddFlags(flags.FlagSet("cloud"))
	connect := func(config *config.CompletedConfig) cloudprovider.Interface {
		name := config.ComponentConfig.KubeCloudShared.CloudProvider.Name
		newCloud, known := clouds[name]
		if !known {
			klog.Fatalf("There is no cloud %q.", name)
		}
		cloud, err := newCloud(account)
		if err != nil {
			klog.Fatalf("The cloud cannot be used: %v", err)
		}
		return cloud
	}
	command := app.NewCloudControllerManagerCommand(
		manager, connect, app.DefaultInitFuncConstructors, names.CCMControllerAliases(), flags, wait.NeverStop)
	os.Exit(cli.Run(command))
}
