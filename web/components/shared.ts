// What several views show. The frame names it, so that it is built once and not once more into every view.
import "@/components/Chips";
import "@/components/Command";
import "@/components/Controls";
import "@/components/DataTable";
import "@/components/Fates";
import "@/components/Figure";
import "@/components/Link";
import "@/components/Panel";
import "@/components/RequestDetail";
import "@/components/States";
